"""The records of what happens to others: a rejection, a failure, a written file."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from scirgen.core.errors import ScirgenError
from scirgen.core.records.base import Id, Provenance, Record
from scirgen.core.records.pairs import QAPair


class Rejection(Record):
    """Something that was not kept, with the reason. Every input is kept or rejected, so the counts of the funnel add
    up."""

    stage: str
    code: str
    reason: str
    record_kind: str = Field(description="name of the record's class")
    record_id: str
    dataset_id: Id | None = None
    question_type: str | None = None
    score: float | None = None
    record: str = Field(default="", description="the rejected record as JSON, or the raw text it would have come from")
    provenance: Provenance | None = None

    @classmethod
    def of(cls, stage: str, code: str, reason: str, about: Record | tuple[str, str], **fields: Any) -> Rejection:
        """Return the rejection of a record with an id, or of something that never became one: (name of its class, id).

        ``fields`` are further fields of the rejection; those that the record itself provides can be omitted.
        """
        if isinstance(about, tuple):
            told: dict[str, object] = dict(zip(("record_kind", "record_id"), about, strict=True))
        else:
            told = {k: getattr(about, k) for k in ("dataset_id", "question_type") if hasattr(about, k)}
            told |= {"record_kind": type(about).__name__, "record_id": getattr(about, "id", "")}
            if "record" not in fields:
                told["record"] = about.model_dump_json()
        return cls.model_validate({"stage": stage, "code": code, "reason": reason, **told, **fields})


def rejected_pair(rejection: Rejection) -> QAPair | None:
    """Return the pair that a rejection holds; None if it rejects something else."""
    try:
        return QAPair.model_validate_json(rejection.record)
    except ValueError:
        return None


class Failure(Record):
    """Something that could not be decided; the next run tries it again."""

    stage: str
    code: str
    message: str
    hint: str = ""
    retryable: bool = True
    record_id: str | None = None

    @classmethod
    def of(cls, stage: str, error: ScirgenError, record_id: str | None = None) -> Failure:
        return cls(
            stage=stage, code=error.error_code, message=error.message, hint=error.hint, retryable=error.retryable,
            record_id=record_id,
        )  # fmt: skip


class ReleaseFile(Record):
    """A file written by the release stage; ``path`` is relative to the run's folder."""

    path: str
    sha256: str
    bytes: int
    rows: int | None = None
    provenance: Provenance | None = None
