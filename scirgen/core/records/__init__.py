"""The records that stages exchange. Frozen, strict, and serialisable to one JSON line each.

Offsets are character offsets (Python ``str`` indices, end exclusive) into `Document.text`, or into `Dataset.text` when
a span's ``document_id`` is a dataset's id.
"""

from scirgen.core.records.base import (
    AspectCategory,
    BlockKind,
    Box,
    Frozen,
    Id,
    Ids,
    Medium,
    Provenance,
    Record,
    SectionClass,
    Span,
    SpanRole,
    Year,
    plain_id,
    same_fields,
)
from scirgen.core.records.outcomes import Failure, Rejection, ReleaseFile, rejected_pair
from scirgen.core.records.pairs import GUESSED, LINKED, LINKS, ORIGINS, Doubt, Grade, Origin, QAPair, Score
from scirgen.core.records.papers import (
    OWN,
    Aspect,
    Block,
    Criteria,
    Dataset,
    Document,
    Link,
    Paper,
    PlacedLine,
    SectionLabel,
    abouts,
    appendices,
    aspects_by_category,
    caption_label,
    cells_text,
    context_text,
    count_links,
    users_of,
)

__all__ = [
    "GUESSED", "LINKED", "LINKS", "ORIGINS", "OWN", "Aspect", "AspectCategory", "Block", "BlockKind", "Box",
    "Criteria", "Dataset", "Document", "Doubt", "Failure", "Frozen", "Grade", "Id", "Ids", "Link", "Medium",
    "Origin", "Paper", "PlacedLine", "Provenance", "QAPair", "Record", "Rejection", "ReleaseFile", "Score",
    "SectionClass", "SectionLabel", "Span", "SpanRole", "Year", "abouts", "appendices", "aspects_by_category",
    "caption_label", "cells_text", "context_text", "count_links", "plain_id", "rejected_pair", "same_fields",
    "users_of",
]  # fmt: skip
