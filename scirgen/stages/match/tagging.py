"""Decides which mentions DataFinder's tagging rule counts (Viswanathan et al., ACL 2023, section 3, and its script).

A heading with one of the words for results, experiments, evaluation, training or testing turns counting on, one for
related work or conclusions turns it off, and any other heading changes nothing. A sentence about pretraining does not
count, since it names data that the paper itself did not use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

S = TypeVar("S")

ON: Final = ("dataset", "experiment", "evaluation", "result", "training", "testing")
OFF: Final = ("related work", "future work", "discussion", "conclusion", "concluding")
PRETRAINED: Final = ("pretrain", "pre-train", "pre - train")


def _counting_after(counting: bool, heading: str) -> bool:
    """Tells whether mentions count below a heading; ``counting`` is the state above it. A heading with both kinds of
    words turns counting on."""
    title = heading.lower()
    if any(word in title for word in OFF):
        counting = False
    return counting or any(word in title for word in ON)


def _about_pretraining(sentence: str) -> bool:
    """Tells whether a sentence is about pretraining."""
    lower = sentence.lower()
    return any(word in lower for word in PRETRAINED)


def counted(sections: Iterable[tuple[str, Sequence[S]]], text: Callable[[S], str]) -> Iterator[S]:
    """The sentences that count.

    Args:
        sections: (heading, sentences) in the paper's order.
        text: the words of a sentence.
    """
    counting = False
    for heading, sentences in sections:
        counting = _counting_after(counting, heading)
        yield from (s for s in sentences if counting and not _about_pretraining(text(s)))
