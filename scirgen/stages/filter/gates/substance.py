"""Gates on what a question is about: that it says so at all, and that it speaks of what is in the material."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from scirgen.core.errors import ResourceError
from scirgen.core.records import QAPair
from scirgen.core.textmatch import content_words, names, stem, words
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict

_SHARED_BEGINNING = 4
_NAME_WORTH = 3
"""A proper name narrows a search as much as three other words."""


class VagueGate(PairGate):
    """The question could be asked of any dataset: "What method is used to evaluate the quality of the observation data?"."""

    code: ClassVar[str] = "vague"
    explanation: ClassVar[str] = (
        "The question could be asked of any dataset: fewer words than the threshold say what it is about (a name counts "
        "three times; a question type may ask for fewer)."
    )
    order: ClassVar[int] = 75
    default_threshold: ClassVar[float | None] = 3
    needs: ClassVar[tuple[str, ...]] = ("type",)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        if not wording.generic_words:
            return ACCEPT  # nobody has said which words are generic in this language
        telling = set(content_words(pair.question, wording.stop_words)) - _stems(wording.generic_words)
        worth = len(telling) + (_NAME_WORTH - 1) * len(telling & names(pair.question))
        least = self.threshold(ctx.config)
        try:
            own = ctx.taxonomies.question_type(pair.question_type).question.telling_words
        except ResourceError:
            own = None
        if own is not None:
            least = min(least, own)
        if worth >= least:
            return ACCEPT
        said = ", ".join(sorted(telling)) or "nothing"
        return Verdict(False, f"only {said} says what the question is about", float(worth))


class UnknownNameGate(PairGate):
    """The question names a place, an instrument or a product that is nowhere in the material."""

    code: ClassVar[str] = "unknown_name"
    explanation: ClassVar[str] = "The question holds a proper name that is nowhere in the evidence, metadata or papers."
    order: ClassVar[int] = 92
    needs: ClassVar[tuple[str, ...]] = ("context",)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        evidence = "\n".join(s.text for s in pair.evidence)
        title = material.dataset.title if material.dataset else ""
        known = _known(material.context) | _known(evidence) | _known(title)
        beginnings = {w[:_SHARED_BEGINNING] for w in known}
        # "Asian" is known where "Asia" is, "MODIS's" where "MODIS" is, "SSMI" where "SSM/I" is.
        run = _run(material.context) + _run(evidence) + _run(title)
        for name in sorted(names(pair.question)):
            plain = stem(name.removesuffix("'s").removesuffix("'"))
            if plain in known or plain[:_SHARED_BEGINNING] in beginnings or _run(plain) in run:
                continue
            return Verdict(False, f"{name!r} is nowhere in the material")
        return ACCEPT


@lru_cache(maxsize=64)
def _known(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(text))


@lru_cache(maxsize=256)
def _run(text: str) -> str:
    return "".join(words(text))


@lru_cache(maxsize=16)
def _stems(listed: tuple[str, ...]) -> frozenset[str]:
    return frozenset(stem(w) for w in listed)
