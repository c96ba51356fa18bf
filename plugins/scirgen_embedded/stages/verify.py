"""The second pass for small models. The words that a sentence shares with the metadata and with the paper's title
decide; where they leave it open, the model answers a yes/no question about one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scirgen import Dataset, StageContext, WorkItem
from scirgen.core.text.words import DATA_WORDS
from scirgen.plugin import Aspect, AspectCategory, Document, Link, telling_words
from scirgen.stages.verify.stage import Verdict, VerifyStage
from scirgen_embedded.cues import AspectCues

YES, NO = "yes", "no"
CALLS_PER_PAPER = 4
"""Largest number of model calls about sentences of one paper that the rules leave open."""
ASPECTS_PER_CATEGORY = 8
"""Number of statements of a category that are kept for one dataset and paper, best first."""
_RELEVANT = 3
_OPEN = 2
_CENTRAL = 3
_CENTRAL_ASPECTS = frozenset(AspectCategory) - {AspectCategory.METHODS, AspectCategory.DATASET}


class SmallVerifyStage(VerifyStage):
    """Stage `verify` for small models."""

    async def judge(self, item: WorkItem, aspects: Sequence[Aspect], ctx: StageContext) -> list[Verdict]:
        """Decide by shared words, and ask the model about each sentence that these leave open."""
        title = next((d.title for d in item.of(Document)), "")
        return await judge_singly(item.one(Dataset), item.one(Link), title, aspects, ctx)


@dataclass(frozen=True)
class _Weighed:
    """An aspect with the words it shares: ``subject`` with title and keywords, ``other`` with the rest of the metadata,
    ``central`` with the paper's title."""

    aspect: Aspect
    subject: tuple[str, ...]
    other: tuple[str, ...]
    central: tuple[str, ...]
    cues: float
    is_evidence: bool

    @property
    def relevance(self) -> int:
        """Number of shared words; those of title and keywords count twice."""
        return 2 * len(self.subject) + len(self.other)

    @property
    def rank(self) -> float:
        """Sentences with the highest rank are kept first. A number in a sentence raises it."""
        has_number = any(c.isdigit() for c in self.aspect.span.text)
        return 100.0 * self.is_evidence + self.relevance + 0.5 * len(self.central) + self.cues + 0.5 * has_number


async def judge_singly(
    dataset: Dataset, link: Link, title: str, aspects: Sequence[Aspect], ctx: StageContext
) -> list[Verdict]:
    """Return the verdicts on all aspects, best first; at most `ASPECTS_PER_CATEGORY` of each are kept.

    Rules keep the sentences by which the link was judged, sentences similar to the metadata, and those on the paper's
    own subject (statements with words of its title, except on methods and data). The model decides borderline
    sentences, at most `CALLS_PER_PAPER`; the others are not kept.

    Args:
        dataset: the dataset for which sentences are kept.
        link: the judged link of dataset and paper.
        title: the paper's title.
        aspects: the aspects that the rules of `screen` left open.
        ctx: gives the model and the settings.
    """
    calls = CALLS_PER_PAPER
    kept: dict[AspectCategory, int] = {}
    verdicts: list[Verdict] = []
    for weighed in sorted(_weigh(dataset, link, title, aspects, ctx), key=lambda w: (-w.rank, w.aspect.span.start)):
        aspect = weighed.aspect
        if kept.get(aspect.category, 0) >= ASPECTS_PER_CATEGORY:
            verdicts.append(Verdict(aspect, False, "limit reached; better sentences were kept", "surplus"))
            continue
        if weighed.is_evidence:
            verdict = Verdict(aspect, True, "the paper names or cites the dataset here")
        elif weighed.relevance >= _RELEVANT:
            words = ", ".join((*weighed.subject, *weighed.other)[:5])
            verdict = Verdict(aspect, True, f"it mentions {words}, as the metadata do")
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
    reason = f"the model answered {answer.text} when asked whether it is relevant"
    return Verdict(aspect, keep, reason, "" if keep else "irrelevant", prompt.reference, (answer.reply_key,))
