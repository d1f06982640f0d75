"""The lab's tests try the same examples in every run, as those of skypane do."""

from __future__ import annotations

from tests.support.examples import use_same_examples

use_same_examples()
