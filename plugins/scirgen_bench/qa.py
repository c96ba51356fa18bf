"""Question answering on a release: closed-book (k = 0) and with the k best passages, together with two trivial
baselines.

Accuracy is entailment between answer and reference (ScIRGen, section 4.1); ROUGE-L for long types, exact and number
match for short ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
from pydantic import Field

from scirgen import ModelError, Release, ReleaseRow
from scirgen.core.text.untrusted import unfenced
from scirgen.plugin import (
    ChatSession,
    PromptLibrary,
    Registry,
    Resources,
    Taxonomies,
    derived_seed,
    grouped,
    open_sessions,
    resolve_config,
)  # fmt: skip
from scirgen_bench.answer_metrics import THRESHOLD, Judge, open_judge, question_entails
from scirgen_bench.honesty import NuggetScore, nugget_scores, refused
from scirgen_bench.metrics import Clusters, Figures, too_few
from scirgen_bench.questions import is_answerable, questions_of_split
from scirgen_bench.retriever import make_retriever
from scirgen_bench.systems import SystemFigures


class Answered(Figures):
    """One answer with its scores; a metric that does not apply to the question's form is None."""

    query: str
    question_type: str = ""
    bloom: str | None = None
    system: str
    k: int
    answer: str
    reference: str
    entailment: float | None
    rouge_l: float | None
    exact: float | None
    number: float | None
    refused: bool = False
    nuggets: NuggetScore | None = None


METRICS = (
    "entailed", "ROUGE-L (long)", "exact (short)", "number (short)", "unanswerable answered", "answerable refused",
    "nuggets strict", "nuggets lenient", "nuggets contradicted",
)  # fmt: skip
"""The metrics of a system's line; abstention and nuggets (`honesty`) are there where the release has such questions."""


class QAReport(Figures):
    """The output of ``scirgen benchmark qa --json``."""

    release: str
    split: str
    entailment: str
    threshold: float = THRESHOLD
    rows: list[SystemFigures]
    cells: list[SystemFigures] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    answers: list[Answered]


@dataclass(frozen=True)
class Question:
    """A row of the release, whether its type has short answers, and the passages that were found for it, best first."""

    row: ReleaseRow
    short: bool
    passages: tuple[str, ...]


def questions_of(
    release: Release, split: str, limit: int | None, forms: Mapping[str, str], spec: str, registry: Registry, depth: int
) -> list[Question]:
    """Return the questions of a split that have an answer, or are proved to have none, with the passages that a
    retriever finds. A limited number is spread over the split.

    Args:
        forms: question type -> "short" or "long".

    Raises:
        InputError: the split has no answered question.
    """
    rows = questions_of_split(release, split, limit, _asked, "answered questions")
    found: list[tuple[str, ...]] = [()] * len(rows)
    if depth:
        texts = [p.text for p in sorted(release.passages(), key=lambda p: p.id)]
        retriever = make_retriever(registry, spec)
        retriever.index(texts)
        ranking = retriever.search([r.question for r in rows], depth).documents.tolist()
        found = [tuple(texts[p] for p in positions if p >= 0) for positions in ranking]
    return [Question(r, forms.get(r.question_type) == "short", f) for r, f in zip(rows, found, strict=True)]


def _asked(row: ReleaseRow) -> bool:
    return bool(row.answer) or not is_answerable(row)


async def answers(
    questions: Sequence[Question],
    k: int,
    chat: ChatSession,
    prompts: PromptLibrary,
    *,
    may_refuse: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> list[str | None]:
    """Return the model's answers with k passages; None if it gave no answer. Replies are cached."""

    async def one(question: Question) -> str | None:
        prompt = prompts.get("benchmark/answer", chat.pack).render(
            question=question.row.question,
            passages=list(question.passages[:k]),
            form="short" if question.short else "long",
            may_refuse=may_refuse,
        )
        try:
            reply = await chat.ask_text(prompt, seed=derived_seed(0, "answer", question.row.id, k))
        except ModelError as error:
            if error.fatal:
                raise
            return None
        finally:
            progress()
        return unfenced(reply.text).strip()

    return list(await asyncio.gather(*(one(q) for q in questions)))


async def score(
    system: str,
    k: int,
    all_questions: Sequence[Question],
    all_given: Sequence[str | None],
    entailment: Judge,
    nuggets: Mapping[str, NuggetScore] | None = None,
) -> tuple[SystemFigures, list[Answered]]:
    """Measure a system's answers with the metrics for Hugging Face `evaluate`; an answer is right if it entails the
    reference with more than 0.5."""
    from scirgen_bench.adapters.hf_evaluate import EntailmentAccuracy, ExactMatch, NumberMatch, RougeL, pair_values

    both = list(zip(all_questions, all_given, strict=True))
    questions, given = [q for q, _ in both if q.row.answer], [a for q, a in both if q.row.answer]
    unanswerable = [a for q, a in both if not q.row.answer and a is not None]
    usable = [(q, a) for q, a in zip(questions, given, strict=True) if a is not None]
    replies, references = [a for _, a in usable], [q.row.answer for q, _ in usable]
    asked = [q.row.question for q, _ in usable]
    judge = EntailmentAccuracy(entailment, keep_in_memory=True)
    judged = await asyncio.to_thread(pair_values, judge, replies, references, questions=asked)
    short = [q.short for q, _ in usable]
    rouge = pair_values(RougeL(keep_in_memory=True), replies, references)
    exact = pair_values(ExactMatch(keep_in_memory=True), replies, references)
    number = pair_values(NumberMatch(keep_in_memory=True), replies, references)
    found = [
        Answered(
            query=q.row.id,
            question_type=q.row.question_type,
            bloom=q.row.bloom,
            system=system,
            k=k,
            answer=answer,
            reference=q.row.answer,
            entailment=_rounded(judged[n]),
            rouge_l=None if short[n] else _rounded(rouge[n]),
            exact=exact[n] if short[n] else None,
            number=number[n] if short[n] else None,
            refused=refused(answer),
            nuggets=(nuggets or {}).get(q.row.id),
        )
        for n, (q, answer) in enumerate(usable)
    ]
    row = system_figures(system, k, questions, found)
    if len(questions) < len(both):
        refusals = {
            "unanswerable answered": [not refused(a) for a in unanswerable],
            "answerable refused": [a.refused for a in found],
        }
        row = row.model_copy(update={"metrics": row.metrics | _means(refusals)})
    return row, found


def system_figures(
    system: str, k: int, questions: Sequence[Question], found: Sequence[Answered], by: str = "", value: str = ""
) -> SystemFigures:
    """Return one line of the table, from the answers to some questions; a question without an answer counts as
    failed."""
    dataset_of = {q.row.id: q.row.dataset_id for q in questions}
    judged = [(dataset_of[a.query], float(a.entailment > THRESHOLD)) for a in found if a.entailment is not None]
    right = np.asarray([value for _, value in judged])
    nuggets = [a.nuggets for a in found if a.nuggets is not None]
    measured = {
        "entailed": right.tolist(),
        "ROUGE-L (long)": [a.rouge_l for a in found],
        "exact (short)": [a.exact for a in found],
        "number (short)": [a.number for a in found],
        "nuggets strict": [n.strict for n in nuggets],
        "nuggets lenient": [n.lenient for n in nuggets],
        "nuggets contradicted": [n.contradicted for n in nuggets],
    }
    intervals = Clusters([dataset for dataset, _ in judged]).intervals({"entailed": right})
    return SystemFigures(
        system=system, by=by, value=value, k=k, questions=len(questions), failed=len(questions) - len(found),
        unjudged=sum(a.entailment is None for a in found), metrics=_means(measured), intervals=intervals,
    )  # fmt: skip


def _means(measured: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """Return the mean of each metric over what it applies to."""
    known = {name: [v for v in values if v is not None] for name, values in measured.items()}
    return {name: round(sum(values) / len(values), 6) for name, values in known.items() if values}


BREAKDOWNS: Mapping[str, Callable[[Question], str]] = {
    "form": lambda q: "short" if q.short else "long",
    "bloom": lambda q: q.row.bloom or "not tagged",
    "question_type": lambda q: q.row.question_type,
}
"""The breakdowns of ScIRGen's tables 5 (levels), 6 (short and long answers) and 7 (types)."""


def cells(system: str, k: int, questions: Sequence[Question], found: Sequence[Answered]) -> list[SystemFigures]:
    """Return the lines of all breakdowns, by value."""
    by_query = {a.query: a for a in found}
    lines: list[SystemFigures] = []
    for by, value_of in BREAKDOWNS.items():
        groups = grouped((value_of(question), question) for question in questions if question.row.answer)
        for value, group in sorted(groups.items()):
            answered = [by_query[q.row.id] for q in group if q.row.id in by_query]
            lines.append(system_figures(system, k, group, answered, by, value))
    return lines


def baselines(questions: Sequence[Question]) -> dict[str, list[str | None]]:
    """Return the answers of two trivial systems: one says Yes to everything, one repeats the first passage."""
    return {
        "always Yes": ["Yes"] * len(questions),
        "copy the context": [q.passages[0] if q.passages else "" for q in questions],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


@dataclass(frozen=True)
class QASettings:
    """The settings of ``scirgen benchmark qa``.

    Attributes:
        model: URI of the model that answers.
        retriever: the retriever that finds the passages.
        ks: numbers of passages that the model is given; 0 is closed-book.
        split: the split of the release whose questions are asked.
        limit: largest number of questions, spread over the split; None: all.
        entailment: URI of the model that decides whether an answer entails the reference.
        nugget_judge: URI of the model that decides which nuggets an answer supports; empty: nuggets are not scored.
        more: further settings of the models by their names (`READS`), such as ``limits.timeout_s``.
    """

    model: str
    retriever: str = "bm25"
    ks: Sequence[int] = (0, 1, 5)
    split: str = "test"
    limit: int | None = None
    entailment: str = "lexical:words"
    nugget_judge: str = ""
    more: Mapping[str, object] = field(default_factory=dict)


READS = ("models", "limits")
"""The settings that ``scirgen benchmark qa`` reads."""


async def run_qa(
    release: Release,
    settings: QASettings,
    registry: Registry,
    out: Path,
    *,
    started: Callable[[int], None] = lambda answers: None,
    progress: Callable[[int], None] = lambda done: None,
    tell: Callable[[str], None] = lambda message: None,
) -> QAReport:
    """Answer a split's questions with each number of passages; replies are kept in ``out/replies.db``.

    ``started`` is called with the number of answers that will be requested, ``progress`` with the number so far,
    ``tell`` when a model's server slows down, stops responding or recovers.

    Raises:
        InputError: the split has no answered questions.
        ConfigError: an unknown model, retriever or entailment model.
        ModelAccessError: the entailment model cannot be loaded; in this case nothing was asked.
    """
    resources = Resources()
    prompts = PromptLibrary(resources)
    forms = {t.id: t.answer_form for t in Taxonomies(resources).graesser.types}
    named = {"models.generator": settings.model, "models.judge": settings.nugget_judge}
    config = resolve_config(flags={**settings.more, **named}, reads=READS)[0].config
    judge = open_judge(settings.entailment, registry, config.models.options)
    # This loads the model now, so that a failure to load it is known before answers are paid for.
    await question_entails([("Is it so?", "Yes", "Yes")], judge)
    questions = questions_of(
        release, settings.split, settings.limit, forms, settings.retriever, registry, max(*settings.ks, 1)
    )
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    started(len(questions) * len(settings.ks))
    done = count(1)
    rows: list[SystemFigures] = []
    given: list[Answered] = []
    broken_down: list[SystemFigures] = []
    kept = out / "replies.db"
    async with await open_sessions(config, registry, kept, prompts=prompts, needs_scores=False) as sessions:
        sessions.tell(tell)
        for k in settings.ks:
            replies = await answers(
                questions,
                k,
                sessions.chat,
                prompts,
                may_refuse=any(not q.row.answer for q in questions),
                progress=lambda: progress(next(done)),
            )
            said = [(q.row, a) for q, a in zip(questions, replies, strict=True) if a is not None]
            nuggets = (
                await nugget_scores(said, sessions.judge or sessions.chat, prompts) if settings.nugget_judge else {}
            )
            row, found = await score(str(sessions.chat.identity), k, questions, replies, judge, nuggets)
            rows.append(row)
            given += found
            broken_down += cells(row.system, k, questions, found)
    for name, repeated in baselines(questions).items():
        row, found = await score(name, 0 if name == "always Yes" else 1, questions, repeated, judge)
        rows.append(row)
        broken_down += cells(name, row.k or 0, questions, found)
    return QAReport(
        release=release.info.name,
        split=settings.split,
        entailment=judge.identity,
        rows=rows,
        cells=broken_down,
        notes=too_few(len(questions), len({q.row.dataset_id for q in questions})),
        answers=given,
    )
