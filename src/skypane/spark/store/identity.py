"""Identity: which query a checkpoint folder belongs to, and which changes of a query it refuses."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skypane.model.codec import plain, strict
from skypane.model.errors import CheckpointError
from skypane.spark.store.manifest import UNNAMED

_CODE = "query.code."
"""Where a fingerprint has functions of the user's."""
_SHOWN = {
    "slide": "sliding, which a pattern may decide",
    "allowed_lateness_us": "allowed lateness in microseconds",
    "query.order": "order of aggregates",
}
"""Options by the name they have for users, where the fingerprint has an older one."""


@dataclass(frozen=True)
class QuestionIdentity:
    """A question, as far as a checkpoint depends on it."""

    query: Mapping[str, Any]
    """The fingerprint: another one needs a new checkpoint."""


@dataclass(frozen=True)
class Identity:
    """The content of ``query.json``, by question; a query has one, without a name."""

    id: str
    questions: Mapping[str, QuestionIdentity]

    @classmethod
    def new(cls, fingerprint: Mapping[str, Any]) -> Identity:
        """A query that no folder knows yet."""
        return cls(uuid.uuid4().hex, {UNNAMED: QuestionIdentity(fingerprint)})

    @property
    def question(self) -> QuestionIdentity:
        """The identity of the only question."""
        return self.questions[UNNAMED]

    def with_query(self, fingerprint: Mapping[str, Any]) -> Identity:
        """The same query with a fingerprint whose changes are accepted."""
        return replace(self, questions={UNNAMED: replace(self.question, query=fingerprint)})

    def to_json(self) -> dict[str, Any]:
        """The body of a file, without its format."""
        body: dict[str, Any] = plain(self)
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Identity:
        """The inverse of :meth:`to_json`; refuses a body that lacks a field or has an unknown key."""
        identity = strict(body, cls)
        if [*identity.questions] != [UNNAMED]:
            raise CheckpointError(f"It has the questions {[*identity.questions]}, and not one without a name.")
        return identity


def same_query(stored: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> bool:
    """Whether two fingerprints are of the same query."""
    return not _differences("", stored, fingerprint)


def refuse_changes(
    stored: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path, accept_changed_code: bool
) -> None:
    """Refuse a query that is not the one of the folder, with every difference."""
    differences = list(_differences("", stored, wanted))
    code = [name for name, _, _ in differences if name.startswith(_CODE)]
    if len(code) == len(differences) and accept_changed_code:
        return
    if code and len(code) == len(differences):
        lines = "\n".join(f"  {name.removeprefix(_CODE)}: was {old}, now {new}" for name, old, new in differences)
        raise CheckpointError(
            f"The checkpoint {folder} was written with other code:\n{lines}\nAnswers so far are those of the old "
            "code. Continue with the new one by accept_changed_code=True (--accept-changed-code), or change it back."
        )
    if differences:
        lines = "\n".join(f"  {_SHOWN.get(name, name)}: was {old!r}, now {new!r}" for name, old, new in differences)
        raise CheckpointError(
            f"The checkpoint {folder} belongs to a different query:\n{lines}\n"
            "Change the query back, or give the changed query a new checkpoint folder."
        )


def _differences(prefix: str, old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for name in sorted({*old, *new}):
            found += _differences(f"{prefix}.{name}" if prefix else str(name), old.get(name), new.get(name))
        return found
    return [] if old == new else [(prefix, old, new)]
