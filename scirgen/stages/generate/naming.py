"""A short name for a dataset, for prompts and questions: from its title, or the model's, checked against the record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.records import Dataset
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import telling_words
from scirgen.stages.base import StageContext

_TITLE_NAME = r"[A-Z][\w-]*[A-Z][\w-]*"
_IN_TITLE = (
    re.compile(
        rf"^({_TITLE_NAME})\s?[:：]\s?(?=[a-z])"
    ),  # "HiWATER: Dataset of ..." names a programme of many datasets
    re.compile(rf"\b({_TITLE_NAME})\s(?:\w+\s)?(?:data|datasets?|database|survey|products?)\b"),
    re.compile(rf"[（(]({_TITLE_NAME})(?:[,;，][^()（）]*)?[)）](?=$| (?:for|of|over|in|across)\b)"),
)
_WHOLE_TITLE_WORDS = 5
_NO_NAMES = frozenset({"abstract", "introduction", "summary", "contents", "untitled", "data", "dataset", "article"})
"""Titles that parsers and catalogues give to what they have no title of."""
_MAX_WORDS = 8
_FIRST_AUTHORS = 3
_MAX_CHARACTERS = 60


class NameReply(BaseModel):
    """A name, or none."""

    model_config = ConfigDict(extra="ignore")
    name: str = Field(description="two to eight words; empty if there is no clear one")


def short_name(title: str) -> str | None:
    """Return the short name in a title: "TPMFD" of "TPMFD: near-surface ..."; None if it has none."""
    found = (pattern.search(title) for pattern in _IN_TITLE)
    return next((m.group(1) for m in found if m), None)


def makers(authors: Sequence[str], year: int | None) -> str:
    """Return the first authors and the year of a record or paper, by which researchers name one that has no other name;
    "" without a year, since nobody finds a study by authors alone."""
    return "; ".join(authors[:_FIRST_AUTHORS]) + f" ({year})" if authors and year else ""


def whole_title(title: str) -> str:
    """Return the title if it can serve as a name: at most five words, one part, not the name of a heading."""
    short = len(title.split()) <= _WHOLE_TITLE_WORDS and not any(sign in title for sign in ",;:，；：")
    return title if short and title.casefold().strip(" .") not in _NO_NAMES else ""


class Called(NamedTuple):
    """The names by which questions may call a dataset: its own and its makers, each "" if there is none."""

    name: str
    by: str


async def name_of(dataset: Dataset, ctx: StageContext) -> Called:
    """Return the name by which questions call a dataset, and its makers.

    A name in the title, or a title that is one itself, needs no call. A model's name has only words of the record.

    Raises:
        ModelError: transport and access errors.
    """
    title = " ".join(dataset.title.split())
    name = short_name(title) or whole_title(title)
    if not name:
        name = await _asked_name(title, dataset, ctx)
    return Called(name, makers(dataset.authors, dataset.year))


async def _asked_name(title: str, dataset: Dataset, ctx: StageContext) -> str:
    prompt = ctx.prompt("name").render(title=title, start=dataset.description)
    try:
        reply = await ctx.chat.ask(prompt, NameReply, seed=ctx.seed("name", dataset.id))
    except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError):
        return ""
    return checked_name(reply.value.name, dataset)


def checked_name(name: str, dataset: Dataset) -> str:
    """Return a model's name without the quotation marks around it; "" if too long or with words that the record
    lacks."""
    name = " ".join(name.split()).strip("\"'“”.")
    short = 0 < len(name.split()) <= _MAX_WORDS and len(name) <= _MAX_CHARACTERS
    known = telling_words(f"{dataset.title} {dataset.text}")
    return name if short and telling_words(name) <= known and not talks_to_machine(name) else ""
