"""The embedded model as it is known before it is opened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """The description of a model that a run gives before it opens it."""

    title: str
    languages: tuple[str, ...]
    note: str


ABOUT = About(
    "the embedded model",
    ("en",),
    "The embedded model (135M parameters) shows that everything works: 12 papers gave 5 rows (37 s a paper), 25 "
    "records without papers 15 (5 s a record); a language model that read them called 3 and 13 good. Use --model for a "
    "dataset. Without any model, python -m scirgen.testing serve answers with made-up text.",
)
