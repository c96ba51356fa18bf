"""One settings model a stage. All of a section is fingerprinted, except fields marked ``fingerprint=False``, with why."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

NOT_FINGERPRINTED: JsonDict = {"fingerprint": False}
"""``json_schema_extra`` of a field that changes when or whether something is done, never what comes out."""


class Section(BaseModel):
    """Base of all config sections: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def fingerprinted(value: object) -> object:
    """What of a config section enters a stage's fingerprint: all but the fields marked `NOT_FINGERPRINTED`."""
    if not isinstance(value, BaseModel):
        return value
    fields = type(value).model_fields
    left_out = {name for name, field in fields.items() if field.json_schema_extra == NOT_FINGERPRINTED}
    return value.model_dump(mode="json", exclude=left_out)


class CollectConfig(Section):
    """Stage 1. ``source`` is a registered source; ``options`` are passed to it."""

    source: str = "local"
    options: dict[str, object] = {}
    # Not fingerprinted: it is part of a page's key, so that raising it leaves the rest of the run as it is.
    limit: int | None = Field(
        default=None, ge=1, description="at most this many datasets", json_schema_extra={"fingerprint": False}
    )
    papers_per_dataset: int = Field(default=20, ge=0)
    ids: tuple[str, ...] = Field(default=(), description="only the datasets with these ids or DOIs")
    licences: tuple[str, ...] = Field(
        default=(),
        description="keep only datasets and papers under these; empty: all. Unknown is kept only as 'unknown'",
    )


class ParseConfig(Section):
    """Stage 2."""

    parser: str = "auto"
    timeout_s: float = Field(default=120.0, gt=0)
    memory_mb: int = Field(default=2048, ge=256)


class SectionConfig(Section):
    """Stage 3."""

    use_model: bool = True


class MatchConfig(Section):
    """Stage 4."""

    strategy: str = "auto"


class ExtractConfig(Section):
    """Stage 5."""

    max_tokens_per_call: int = Field(default=3000, ge=200)


class VerifyConfig(Section):
    """Stage 6."""


class GenerateConfig(Section):
    """Stage 7."""

    strategy: str = "auto"
    types: tuple[str, ...] = Field(default=(), description="question types; empty: all of the taxonomy")
    pairs_per_type: int = Field(default=3, ge=1, description="for datasets with a usable paper")
    types_without_paper: int = Field(
        default=8, ge=1, description="types chosen for a dataset without one, one pair each"
    )


class FilterConfig(Section):
    """Stage 8."""

    gates: tuple[str, ...] = Field(default=(), description="empty: all registered gates that need nothing installed")
    threshold: float = Field(default=0.0, description="SePer: keep when the shift is above it, in nats a token")


class TagConfig(Section):
    """Stage 9."""

    batch_size: int = Field(default=10, ge=1)


class ReleaseConfig(Section):
    """Stage 10. ``ratios`` are train, dev, test."""

    ratios: tuple[float, float, float] = (0.80, 0.15, 0.05)
    formats: tuple[str, ...] = ("jsonl",)
