"""Facts about the embedded model that are known before it is opened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """The description of a model that a run gives before it opens it."""

    title: str
    languages: tuple[str, ...]
    note: str
    rows: str


MEASURED = (
    "12 papers gave 5 rows and 25 records without papers 15; a language model that read them called 3 and 13 good"
)

ABOUT = About(
    "the embedded model",
    ("en",),
    f"The embedded model (135M parameters) shows that everything works: {MEASURED}. Use --model for a dataset. Without "
    "any model, python -m scirgen.testing serve answers with made-up text.",
    "The embedded model (135M parameters) and its rules wrote these rows. They show that everything works; this is not "
    f"a dataset to use. In two runs that were measured, {MEASURED}. Rows about other data may be wrong or say little.",
)
