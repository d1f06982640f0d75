"""The ledger adds up and survives JSON."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skypane.model.codec import from_text, to_text
from skypane.model.ledger import Ledger

counts = st.integers(0, 10**12)
ledgers = st.builds(Ledger, counts, counts, st.dictionaries(st.sampled_from("abc"), counts), duplicate=counts)


@given(a=ledgers, b=ledgers)
def test_delivered_is_the_sum_of_all_fates(a: Ledger, b: Ledger) -> None:
    both = a + b
    assert both.delivered == a.delivered + b.delivered == both.accepted + both.late + both.quarantined + both.duplicate
    assert from_text(to_text(both), Ledger) == both
