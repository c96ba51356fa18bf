"""The second pass for small models: by the words a sentence shares with the metadata and with the paper's title, and by single
yes/no questions where these leave it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scirgen.core.records import Aspect, AspectCategory, Dataset, Link
from scirgen.core.text.cues import AspectCues
from scirgen.core.text.words import DATA_WORDS, telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.verify.rules import Verdict

YES, NO = "yes", "no"
_RELEVANT = 3
_OPEN = 2
_CENTRAL = 3
_CENTRAL_ASPECTS = frozenset(AspectCategory) - {AspectCategory.METHODS, AspectCategory.DATASET}


@dataclass(frozen=True)
class _Weighed:
    """An aspect with its words: ``subject`` shared with title and keywords, ``other`` with the rest of the metadata."""

    aspect: Aspect
    subject: tuple[str, ...]
    other: tuple[str, ...]
    central: tuple[str, ...]
    cues: float
    is_evidence: bool

    @property
    def relevance(self) -> int:
        """Words of title and keywords count twice."""
        return 2 * len(self.subject) + len(self.other)

    @property
    def rank(self) -> float:
        """The order in which sentences of an aspect are kept; a sentence with numbers says more than one without."""
        has_number = any(c.isdigit() for c in self.aspect.span.text)
        return 100.0 * self.is_evidence + self.relevance + 0.5 * len(self.central) + self.cues + 0.5 * has_number


async def judge_singly(
    dataset: Dataset, link: Link, title: str, aspects: Sequence[Aspect], ctx: StageContext
) -> list[Verdict]:
    """Verdicts on all aspects, at most ``aspects_per_category`` kept of each, best first.

    Kept by rule: the sentences by which the link was judged, sentences near to the metadata, and what the paper itself is
    about (statements in the words of its title, but for methods and other data). The model is asked about borderline ones, ``calls_per_paper`` at most; the others are not kept.

    Args:
        dataset: whose profile it is.
        link: why the paper is taken to use it.
        title: the paper's.
        aspects: what the rules of `screen` left.
        ctx: for the model and the settings.
    """
    calls = ctx.config.verify.calls_per_paper
    kept: dict[AspectCategory, int] = {}
    verdicts: list[Verdict] = []
    for weighed in sorted(_weigh(dataset, link, title, aspects, ctx), key=lambda w: (-w.rank, w.aspect.span.start)):
        aspect = weighed.aspect
        if kept.get(aspect.category, 0) >= ctx.config.verify.aspects_per_category:
            verdicts.append(Verdict(aspect, False, "limit reached; better sentences were kept", "surplus"))
            continue
        if weighed.is_evidence:
            verdict = Verdict(aspect, True, "it is where the paper names or cites the dataset")
        elif weighed.relevance >= _RELEVANT:
            words = ", ".join((*weighed.subject, *weighed.other)[:5])
            verdict = Verdict(aspect, True, f"it speaks of {words}, as the metadata do")
        elif aspect.category in _CENTRAL_ASPECTS and len(weighed.central) >= _CENTRAL:
            verdict = Verdict(aspect, True, f"it is what the paper is about: {', '.join(weighed.central[:5])}")
        elif weighed.relevance >= _OPEN and calls > 0:
            calls -= 1
            verdict = await _ask(dataset, aspect, ctx)
        else:
            verdict = Verdict(aspect, False, "it shares too little with the metadata", "irrelevant")
        kept[aspect.category] = kept.get(aspect.category, 0) + verdict.keep
        verdicts.append(verdict)
    return verdicts


def _weigh(dataset: Dataset, link: Link, title: str, aspects: Sequence[Aspect], ctx: StageContext) -> list[_Weighed]:
    cues = AspectCues(ctx.taxonomies.aspects.aspects)
    subject = telling_words(f"{dataset.title} {' '.join(dataset.keywords)}") - DATA_WORDS
    places = telling_words(" ".join(v for label, v in dataset.fields if label.lower().startswith(("place", "author"))))
    other = telling_words(dataset.text) - DATA_WORDS - subject - places
    central = telling_words(title)
    found: list[_Weighed] = []
    for aspect in aspects:
        words = telling_words(aspect.span.text)
        found.append(
            _Weighed(
                aspect,
                tuple(sorted(words & (subject - places))),
                tuple(sorted(words & other)),
                tuple(sorted(words & central)),
                cues.scores(aspect.span.text, aspect.span.section).get(aspect.category, 0.0),
                any(e.start < aspect.span.end and aspect.span.start < e.end for e in link.evidence),
            )
        )
    return found


async def _ask(dataset: Dataset, aspect: Aspect, ctx: StageContext) -> Verdict:
    prompt = ctx.prompt("keep").render(
        title=dataset.title,
        description=dataset.description,
        aspect=aspect.category.value.replace("_", " "),
        sentence=" ".join(aspect.span.text.split()),
    )
    answer = await ctx.chat.choose(prompt, (YES, NO), seed=ctx.seed(aspect.id))
    keep = answer.text == YES
    reason = f"the model says {answer.text} to its being relevant"
    return Verdict(aspect, keep, reason, "" if keep else "irrelevant", prompt.reference, (answer.reply_key,))
