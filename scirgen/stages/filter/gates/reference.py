"""Gates for what a pair refers to: unseen texts, the prompt's examples, terms, and what a reader would have to ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Literal

from rapidfuzz import fuzz, process

from scirgen.claims.abbreviations import unexplained
from scirgen.claims.conformance import phrase, pointer
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair
from scirgen.core.taxonomy import LanguageWording, Taxonomies
from scirgen.core.text.textmatch import normalise
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict

_ASKS = re.compile(r"^asks (?:for )?", re.IGNORECASE)


class PointingGate(PairGate):
    """The question points at a text or dataset that its reader cannot see, or the answer at the text it was made
    from."""

    code: ClassVar[str] = "pointing"
    explanation: ClassVar[str] = (
        'The question points at something its reader cannot see: "this dataset", '
        '"the study"; or the answer: "the text says".'
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    beside_judge: ClassVar[bool] = False
    order: ClassVar[int] = 70
    version: ClassVar[int] = 2

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return bool(wording.pointing)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        if found := pointer(pair.question, wording):
            return Verdict(False, f"the question points at {found!r}")
        if found := phrase(wording.pointing_answers, pair.answer):
            return Verdict(False, f"the answer points at the text it was made from: {found!r}")
        return ACCEPT


class ExampleLeakGate(PairGate):
    """The pair is a near-copy of an example that the model was shown."""

    code: ClassVar[str] = "example_leak"
    explanation: ClassVar[str] = (
        "A near-copy of an example or instruction in the taxonomy or in a prompt (threshold: rapidfuzz ratio of the "
        "questions or of answers of five words and more, 0 to 100)."
    )
    order: ClassVar[int] = 90
    version: ClassVar[int] = 2
    default_threshold: ClassVar[float | None] = 85

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        limit = self.threshold(ctx.config)
        shown_questions, shown_answers = shown_examples(ctx.taxonomies, ctx.prompts)
        for part, text, shown in (("question", pair.question, shown_questions), ("answer", pair.answer, shown_answers)):
            best = process.extractOne(normalise(text), shown, scorer=fuzz.ratio, score_cutoff=limit)
            if best is not None and (part == "question" or len(text.split()) >= 5):
                return Verdict(False, f"the {part} copies the example {best[0][:80]!r}", best[1])
        return ACCEPT


class UnexplainedAbbreviationGate(PairGate):
    """Question and answer use an abbreviation that the material defines as a term, and neither spells it out. Beside a
    judge only codes of cited tables count, which it overlooks."""

    code: ClassVar[str] = "unexplained_abbreviation"
    explanation: ClassVar[str] = (
        "Question and answer use a term's abbreviation of two or three letters, "
        'such as "FL" for fork length, that only the material '
        "explains. Names of programmes, products and models may stand alone, and so may abbreviations of the "
        "dataset's title. Where a judge reads the pairs, only a table's own codes count, such as \"NEGCON\"."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 93
    version: ClassVar[int] = 3
    needs: ClassVar[tuple[str, ...]] = ("answer", "sources")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        known = ctx.taxonomies.wording.of(pair.language).known_abbreviations
        title = material.dataset.title if material.dataset else ""
        labels = " ".join(h for s in pair.answer_evidence for h in s.headers) if ctx.judged else None
        found = unexplained(f"{pair.question}\n{pair.answer}", tuple(material.sources.values()), title, known, labels)
        return Verdict(False, f"{found[0]!r} is not explained: {found[1]}") if found else ACCEPT


class AsksBackGate(PairGate):
    """A model that sees the question alone would have to ask what is meant. Asks no model: step answer asked it."""

    code: ClassVar[str] = "asks_back"
    explanation: ClassVar[str] = (
        "A model that sees the question alone would have to ask what is meant. The user's own questions stay."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 72
    version: ClassVar[int] = 2

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        if pair.asked == "user" or not pair.asks_back:
            return ACCEPT
        return Verdict(False, f"whoever sees it alone asks: {pair.asks_back}")


@lru_cache(maxsize=8)
def shown_examples(taxonomies: Taxonomies, prompts: PromptLibrary) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the normalised questions (type definitions and instructions among them), and answers, that a model may
    have been shown."""
    questions: set[str] = set()
    answers: set[str] = set()
    for kind in taxonomies.graesser.types:
        # Small models repeat the instruction as a question: "What state or event caused or led to another?".
        questions.update((normalise(_ASKS.sub("", kind.definition)), normalise(kind.ask)))
        for pairs in kind.examples.values():
            questions.update(normalise(e.question) for e in pairs)
            answers.update(normalise(e.answer) for e in pairs)
    for id in prompts.ids():
        if id.startswith("generate/"):
            for example in prompts.get(id).file.examples:
                questions.update(normalise(text) for text in _texts(example, "question"))
                answers.update(normalise(text) for text in _texts(example, "answer"))
    return tuple(sorted(questions - {""})), tuple(sorted(answers - {""}))


def _texts(value: object, wanted: str) -> Iterator[str]:
    """Yield the strings under a key named ``wanted``, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == wanted and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner, wanted)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner, wanted)
