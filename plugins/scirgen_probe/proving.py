"""The step ``probe``, after filter: proves that nothing answers a question, and takes accepted answers apart."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from scirgen import (
    BlockKind,
    Config,
    Dataset,
    Material,
    QAPair,
    Record,
    Rejection,
    RunView,
    ScirgenError,
    Scope,
    Span,
    Stage,
    StageContext,
    StageResult,
    Step,
    Uses,
    WorkItem,
)
from scirgen.core.corpus.questions import Pool, Unanswered
from scirgen.core.records import Failure, Paper
from scirgen.core.records.licences import may_be_whole
from scirgen.core.text.bm25 import BM25
from scirgen.core.text.passages import windows
from scirgen.plugin import Document, content_id, language_name, telling_words
from scirgen.stages.filter.faithfulness.batches import Reply, no_verdict, reply_to
from scirgen.stages.filter.stage import gates_of, verdicts_of
from scirgen.stages.generate.material import record_pieces
from scirgen_probe.records import Nugget, Unanswerable
from scirgen_probe.settings import settings

STEP = Step(
    "probe", "unanswerable questions, nuggets of accepted pairs", "Unanswerable, Nugget", "a dataset",
    repeat="quota", after="filter",
)  # fmt: skip
_NEAREST, _OWN = 8, 4
"""Passages that the judge reads for a question: from the whole corpus, and at least so many of the dataset's own."""
_PASSAGE_WORDS = 120
_NOT_ASKED = frozenset({"evidence", "sources", "scores", "context"})
"""Needs of gates that a question without an answer cannot meet."""
_QUESTIONS, _PAIRS = 6, 8
"""Largest number in one call."""
_MAX_NUGGETS = 6
_RECORD_CHARS = 6000

R = TypeVar("R", Unanswerable, QAPair)
Answerable = Literal["answered", "partly", "unclear", "off_subject", "unanswered"]


class Fact(BaseModel):
    """A fact of the answer of pair number ``pair``, carried by line number ``line`` of it; both count from 1."""

    pair: int
    line: int
    fact: str
    vital: bool


class Facts(BaseModel):
    """A reply."""

    nuggets: list[Fact]


class Corpus:
    """Passages of all records and linked papers of a run, ranked by BM25, each with the datasets that it is about.

    Only the references of papers are left out, since code and cells of tables can answer questions, too.
    """

    def __init__(self, run: RunView) -> None:
        found: list[tuple[str, frozenset[str]]] = []
        for dataset in run.datasets():
            found += ((text, frozenset({dataset.id})) for text, _ in record_pieces(dataset))
        users: dict[str, set[str]] = {}
        for dataset_id, papers in run.uses().items():
            for paper in papers:
                users.setdefault(paper, set()).add(dataset_id)
        for document in run.records("parse", Document):
            if document.paper_id in users:
                read = (b for b in document.blocks if b.kind is not BlockKind.REFERENCE)
                text = "\n".join(document.text[b.start : b.end] for b in read)
                owners = frozenset(users[document.paper_id])
                found += ((text[a:b], owners) for a, b in windows(text, _PASSAGE_WORDS))
        self.texts, self.owners = [text for text, _ in found], [owners for _, owners in found]
        self._index = BM25([sorted(telling_words(text)) for text in self.texts])

    def nearest(self, question: str, dataset_id: str) -> list[str]:
        """Return the passages nearest to a question: of the whole corpus, and of the dataset's own."""
        ranked = [n for n, score in self._index.ranked(sorted(telling_words(question))) if score > 0]
        own = [n for n in ranked if dataset_id in self.owners[n]][:_OWN]
        return [" ".join(self.texts[n].split()) for n in dict.fromkeys([*own, *ranked[:_NEAREST]])]


_corpora: WeakKeyDictionary[RunView, Corpus] = WeakKeyDictionary()


def corpus_of(run: RunView) -> Corpus:
    """Return the corpus of a run's view, made once."""
    return _corpora[run] if run in _corpora else _corpora.setdefault(run, Corpus(run))


class ProbeStage(Stage):
    """Keeps the questions that nothing answers, according to the judge, with their levels, and has it write the nuggets
    of accepted answers. Questions must pass the filter's gates of form first."""

    name: ClassVar[str] = "probe"
    reads_run: ClassVar[bool] = True

    def uses(self, config: Config) -> Uses:
        """Return the prompts, and the model that judges."""
        role: Literal["judge", "generator"] = "judge" if config.models.judge else "generator"
        return Uses(
            config=("probe", "filter", "language"), prompts=("probe/unanswerable", "probe/nuggets"), roles=(role,),
            taxonomies=("graesser", "wording", "bloom"),
        )  # fmt: skip

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item; it contains the passages nearest to its questions, so they are judged again when the corpus
        grows."""
        accepted = sorted((p for p in scope.outputs("filter", QAPair) if p.round == scope.round), key=lambda p: p.id)
        written = () if scope.round else scope.outputs("generate", Unanswerable)
        most = math.ceil(settings(ctx.config).unanswerable * len(accepted))
        left = _unanswered(scope)[:most]
        questions = [*written, *(q for q, _ in left)]
        pairs = [p for p in accepted if settings(ctx.config).nuggets and p.evidence]
        if not pairs and not questions:
            return
        nearest = {q.id: texts for q, texts in left}
        if written:
            assert ctx.run is not None, "the step probe comes after match"
            nearest |= {q.id: corpus_of(ctx.run).nearest(q.question, scope.dataset.id) for q in written}
        key = scope.dataset.id + (f"#{scope.round}" if scope.round else "")
        yield WorkItem(key, (scope.dataset, *pairs, *questions), {"nearest": nearest})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Have the judge read questions and answers, a few in a call."""
        dataset, nearest, pairs = item.one(Dataset), item.parameters["nearest"], item.of(QAPair)
        assert isinstance(nearest, Mapping)
        formed, refused = await self._formed(item.of(Unanswerable), pairs, dataset, ctx)
        found = await asyncio.gather(
            *(_judged_questions(part, dataset, nearest, ctx) for part in _parts(formed, _QUESTIONS)),
            *(_nuggets(part, ctx) for part in _parts(pairs, _PAIRS)),
        )
        results = [one for part in found for one in part]
        return StageResult(
            tuple(r for r in results if not isinstance(r, Rejection | Failure)),
            (*refused, *(r for r in results if isinstance(r, Rejection))),
            tuple(r for r in results if isinstance(r, Failure)),
        )

    async def _formed(
        self, questions: Sequence[Unanswerable], accepted: tuple[QAPair, ...], dataset: Dataset, ctx: StageContext
    ) -> tuple[list[Unanswerable], list[Rejection]]:
        """Return the questions that the gates of form accept, and the rejections of the others."""
        left, refused = {q.id: q for q in questions}, list[Rejection]()
        material = Material(dataset, (), dataset.text, {dataset.id: dataset.text}, accepted)
        for gate in gates_of(ctx):
            if gate.action != "reject" or gate.models() or _NOT_ASKED & set(gate.needs):
                continue
            # The question stands in for the answer that it does not have.
            asked = [
                QAPair(
                    id=q.id, dataset_id=q.dataset_id, question=q.question, answer=q.question,
                    question_type=q.question_type, language=q.language,
                )
                for _, q in sorted(left.items())
            ]  # fmt: skip
            for pair, verdict in zip(asked, await verdicts_of(gate, asked, material, ctx), strict=True):
                if verdict.error is None and not verdict.accept:
                    refused.append(ctx.reject(gate.code, verdict.reason, left.pop(pair.id), score=verdict.score))
        return [left[q.id] for q in questions if q.id in left], refused


async def _judged_questions(
    part: Sequence[Unanswerable], dataset: Dataset, nearest: Mapping[str, Sequence[str]], ctx: StageContext
) -> list[Record]:
    """Return each question if the judge finds no answer to it, else its rejection, or its failure without a verdict."""
    passages = list(dict.fromkeys(text for q in part for text in nearest[q.id]))
    prompt = ctx.prompt("unanswerable").render(
        record=dataset.text[:_RECORD_CHARS],
        passages=[f"[{n}] {text}" for n, text in enumerate(passages, 1)],
        questions=[q.question for q in part],
        levels=ctx.taxonomies.bloom.levels,
        tie_breaking=ctx.taxonomies.bloom.tie_breaking,
    )
    fields: dict[str, tuple[object, object]] = {
        "p": (Answerable, None), "l": (Literal[tuple(level.id for level in ctx.taxonomies.bloom.levels)], None),
    }  # fmt: skip
    reply = reply_to(Reply, range(1, len(part) + 1), **fields)
    try:
        answer = await ctx.judge.ask(prompt, reply, seed=ctx.seed(*(q.id for q in part)))
    except ScirgenError as error:
        return _failures(part, error, ctx)
    found: list[Record] = []
    for n, question in enumerate(part, 1):
        verdict = getattr(answer.value, f"p{n}")
        if verdict is None:
            found.append(Failure.of(ctx.stage, no_verdict(n), question.id))
        elif verdict == "unanswered":
            found.append(question.model_copy(update={"bloom": getattr(answer.value, f"l{n}")}))
        else:
            found.append(ctx.reject(verdict, answer.value.fault(n) or f"the judge says: {verdict}", question))
    return found


async def _nuggets(part: Sequence[QAPair], ctx: StageContext) -> list[Record]:
    """Return the nuggets of some answers, or their failures."""
    prompt = ctx.prompt("nuggets").render(
        pairs=[{"question": p.question, "answer": p.answer, "lines": [s.shown for s in p.evidence]} for p in part],
        most=_MAX_NUGGETS,
        language=language_name(ctx.config.language),
    )
    try:
        answer = await ctx.judge.ask(prompt, Facts, seed=ctx.seed(*(p.id for p in part)))
    except ScirgenError as error:
        if error.error_code == "reply_truncated" and len(part) > 1:
            half = len(part) // 2
            return [*await _nuggets(part[:half], ctx), *await _nuggets(part[half:], ctx)]
        return _failures(part, error, ctx)
    origin = ctx.provenance(prompt, (answer.reply_key,))
    return [n.model_copy(update={"provenance": origin}) for n in nuggets_of(part, answer.value.nuggets, ctx)]


def nuggets_of(pairs: Sequence[QAPair], facts: Iterable[Fact], ctx: StageContext) -> Iterator[Nugget | Rejection]:
    """Yield the facts that name a line of their answer's evidence, of each answer the first six; the others are
    rejections, repeated ones left out."""
    seen: set[str] = set()
    counts = Counter[str]()
    for found in facts:
        pair = pairs[found.pair - 1] if 0 < found.pair <= len(pairs) else None
        fact = " ".join(found.fact.split())
        id = content_id("nug", pair.id if pair else "", fact)
        if not fact or id in seen:
            continue
        seen.add(id)
        if pair is None or not 0 < found.line <= len(pair.evidence):
            yield ctx.reject(
                "no_such_line", f"no line {found.line} of answer {found.pair}", ("Nugget", id), record=fact
            )
            continue
        counts[pair.id] += 1
        if counts[pair.id] > _MAX_NUGGETS:
            why = f"an answer has at most {_MAX_NUGGETS} facts"
            yield ctx.reject("surplus", why, ("Nugget", id), dataset_id=pair.dataset_id, record=fact)
            continue
        yield Nugget(
            id=id, dataset_id=pair.dataset_id, pair_id=pair.id, fact=fact, span=pair.evidence[found.line - 1],
            vital=found.vital,
        )  # fmt: skip


def _failures(part: Sequence[R], error: ScirgenError, ctx: StageContext) -> list[Record]:
    if error.fatal:
        raise error
    return [Failure.of(ctx.stage, error, record.id) for record in part]


def _unanswered(scope: Scope) -> list[tuple[Unanswerable, list[str]]]:
    """Return the questions of people that step answer left without an answer, with the passages that it read; those
    with a passage that adds something come first."""
    pools = {pool.id: pool for pool in scope.outputs("search", Pool)}
    found: list[tuple[bool, Unanswerable, list[str]]] = []
    for one in scope.outputs("answer", Unanswered):
        asked = one.question
        entries = pools[one.id].entries if one.id in pools else ()
        if asked.round != scope.round or asked.asked == "user" or not asked.question_type or not entries:
            continue  # needs for data and plans have no type, and a user waits for an answer
        question = Unanswerable(
            id=one.id, dataset_id=one.dataset_id, question=asked.text, question_type=asked.question_type,
            lacks="near_miss" if one.nearest else "missing", differs=one.lacking, provenance=asked.provenance,
        )  # fmt: skip
        texts = [" ".join(entry.passage.text.split()) for entry in entries[: _NEAREST + _OWN]]
        found.append((not one.nearest, question, texts))
    return [(q, texts) for _, q, texts in sorted(found, key=lambda f: (f[0], f[1].id))]


def spans_read(run: RunView, ids: Container[str]) -> dict[str, list[Span]]:
    """Return by question the passages that were read for it, best first, of records and of papers that anyone may
    publish: a release names them, and prints what it names."""
    licences = {p.id: p.licence for p in run.records("collect", Paper)}
    open_texts = {dataset.id for dataset in run.datasets()}
    open_texts |= {d.id for d in run.records("parse", Document) if may_be_whole(licences.get(d.paper_id, ""))}
    return {
        pool.id: [
            Span(document_id=e.passage.document_id, start=e.passage.start, end=e.passage.end, text=e.passage.text)
            for e in pool.entries
            if e.passage.document_id in open_texts
        ]
        for pool in run.records("search", Pool)
        if pool.id in ids
    }


def _parts(records: Sequence[R], most: int) -> list[Sequence[R]]:
    return [records[n : n + most] for n in range(0, len(records), most)]
