"""Every row has one owner; owners have about as many rows, or look-ups, as each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.flow.plan import OWNERSHIPS, Ownership, StagePlan, WindowScheduling
from skypane.model.errors import OptionError
from skypane.tuning.sharing.joins import JOIN_VISITS, JoinSharing, ownership
from skypane.tuning.sharing.stage import window_shares


@given(fresh=st.lists(st.booleans(), max_size=60), tasks=st.integers(1, 7), how=st.sampled_from(OWNERSHIPS))
def test_no_owner_has_much_more_than_another(fresh: list[bool], tasks: int, how: Ownership) -> None:
    mask = np.array(fresh, dtype=np.bool_)
    owners = JoinSharing(how).owners(mask, tasks)
    assert ((owners >= 0) & (owners < tasks)).all()
    assert len(owners) == len(fresh)
    rows = np.bincount(owners, minlength=tasks)
    look_ups = np.bincount(owners, np.where(mask, 2, 1), minlength=tasks)
    loads, apart = (rows, 1) if how == "rr" else (look_ups, 2)
    assert loads.max() - loads.min() <= apart


def test_old_rows_make_up_for_new_ones() -> None:
    """The first task gets one of the three new rows more than the second, so the second gets the older ones first."""
    fresh = np.array([False, False, False, True, True, True])
    assert JoinSharing("llw+").owners(fresh, 2).tolist() == [1, 1, 0, 0, 1, 0]
    assert JoinSharing("rr").owners(fresh, 2).tolist() == [0, 1, 0, 1, 0, 1]


def test_joins_are_shared_where_one_key_has_most_of_many_rows() -> None:
    joins = JoinSharing(join_rows=100 * JOIN_VISITS)

    def joiners(rows: dict[int, int], degree: int, how: WindowScheduling = "ranges") -> list[tuple[int, int]]:
        shares = window_shares(StagePlan(key_tasks=degree, scheduling=how), rows, 1, joins=joins)
        return [(share.groups.first, share.joiners) for share in shares]

    assert joiners({3: 500, 200: 10}, 4) == [(0, 3), (4, 1)]
    assert joiners({3: 100}, 4) == [(0, 1)]
    assert joiners({3: 500}, 1) == [(0, 1)]
    assert {count for _, count in joiners({3: 500}, 4, "round_robin")} == {1}


def test_an_unknown_ownership_is_refused() -> None:
    assert [ownership(name) for name in OWNERSHIPS] == [*OWNERSHIPS]
    with pytest.raises(OptionError, match=r"ownership='llw' is unknown.*rr, llw\+"):
        ownership("llw")
