"""Decides which mentions DataFinder's tagging rule counts (Viswanathan et al., ACL 2023, section 3, and its script).

A heading with one of the words for results, experiments, evaluation, training or testing turns counting on, one for
related work or conclusions turns it off, and any other heading changes nothing. A sentence about pretraining does not
count, since it names data that the paper itself did not use.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

ON: Final = ("dataset", "experiment", "evaluation", "result", "training", "testing")
OFF: Final = ("related work", "future work", "discussion", "conclusion", "concluding")
PRETRAINED: Final = ("pretrain", "pre-train", "pre - train")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def counting_after(counting: bool, heading: str) -> bool:
    """Tells whether mentions count below a heading; ``counting`` is the state above it. A heading with both kinds of
    words
    turns counting on."""
    title = heading.lower()
    if any(word in title for word in OFF):
        counting = False
    return counting or any(word in title for word in ON)


def about_pretraining(sentence: str) -> bool:
    """Tells whether a sentence is about pretraining."""
    lower = sentence.lower()
    return any(word in lower for word in PRETRAINED)


class Tagger:
    """Finds datasets by their names in a paper's sections, without the rule's condition that the paper cites them.

    A name counts if its tokens (words and signs, case-sensitive) occur in a row.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """``names``: dataset -> its name."""
        self._names: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for dataset, aliases in names.items():
            for alias in set(aliases):
                if tokens := tuple(_TOKEN.findall(alias)):
                    self._names[tokens[0]].append((tokens, dataset))

    def sentences(self, sections: Iterable[tuple[str, Sequence[str]]]) -> Counter[str]:
        """Dataset -> counted sentences that name it. ``sections``: (heading, sentences) in the paper's order."""
        found: Counter[str] = Counter()
        counting = False
        for heading, sentences in sections:
            counting = counting_after(counting, heading)
            for sentence in sentences if counting else ():
                if not about_pretraining(sentence):
                    found.update(self._in(_TOKEN.findall(sentence)))
        return found

    def _in(self, tokens: Sequence[str]) -> set[str]:
        return {
            dataset
            for at, token in enumerate(tokens)
            for name, dataset in self._names.get(token, ())
            if tuple(tokens[at : at + len(name)]) == name
        }
