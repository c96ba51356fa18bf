"""The figures of a run, as plain data: what report.json holds and report.html draws. Reads the run's store, nothing else."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import Aspect, Dataset, Document, Link, Paper, QAPair, Record, Rejection, Span
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.view import StoreView

R = TypeVar("R", bound=Record)
LEVELS = ("C1", "C2", "C3", "C4", "C5", "C6")
_AROUND = 240


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StageRow(_Frozen):
    """One stage of the funnel."""

    stage: str
    reads: str
    item: str
    done: int
    todo: int
    failed: int
    outputs: int
    rejected: dict[str, int]
    failures: dict[str, int]


class TypeRow(_Frozen):
    """One question type (ScIRGen, Table 3a). Words are white-space separated."""

    question_type: str
    rows: int
    share: float
    question_words: float
    answer_words: float
    rejected: dict[str, int]


class AspectRow(_Frozen):
    """One aspect over all datasets (ScIRGen, Table 3c): (dataset, paper) groups that have it, and their mean words."""

    aspect: str
    groups: int
    sentences: int
    words: float


class ScoreRow(_Frozen):
    """One measured score of a pair."""

    name: str
    value: float
    threshold: float | None
    accepted: bool
    question_type: str


class Highlight(_Frozen):
    """Evidence in its surroundings: text before, the span itself, text after, and where it is."""

    before: str
    text: str
    after: str
    where: str


class SampleRow(_Frozen):
    """A row to look at: accepted, or rejected with its reason."""

    id: str
    status: str
    stage: str
    code: str
    reason: str
    question: str
    answer: str
    question_type: str
    bloom: str
    dataset: str
    evidence: tuple[Highlight, ...]
    scores: dict[str, float]


class ReportData(_Frozen):
    """All figures of a run."""

    domain: str
    models: dict[str, str]
    datasets: int
    datasets_with_papers: int
    papers: int
    rows: int
    waiting: int
    funnel: tuple[StageRow, ...]
    types: tuple[TypeRow, ...]
    papers_per_dataset: dict[str, int]
    aspects: tuple[AspectRow, ...]
    bloom: dict[str, int]
    bloom_by_type: dict[str, dict[str, int]]
    bloom_agreement: float | None
    diversity: float | None
    hops: dict[str, int]
    scores: tuple[ScoreRow, ...]
    defects: dict[str, int]
    candidates: int
    usage: dict[str, object]
    sample: tuple[SampleRow, ...]


def gather(folder: Path, *, sample: int = 200) -> ReportData:
    """Read a run's folder and compute every figure.

    Args:
        folder: the run's folder.
        sample: at most this many accepted rows, and as many rejected ones, drawn by the order of a seeded hash.

    Raises:
        StoreError: the folder is no run, or its store is damaged.
    """
    view = StoreView.open(folder)
    try:
        return _gather(view, sample)
    finally:
        view.close()


def _gather(view: StoreView, sample: int) -> ReportData:
    pairs = list(_slim(view.pairs()))
    datasets = {d.id: d.title for d in view.datasets()}
    rejections = list(view.rejections())
    links = [link for link in view.records("match", Link) if link.used]
    per_dataset = Counter(link.dataset_id for link in links)
    by_type = view.rejected_by_type()
    funnel = view.funnel()
    manifest = view.manifest()
    bloom = Counter(p.bloom for p in pairs if p.bloom)
    intended = [(p.intended_bloom, p.bloom) for p in pairs if p.intended_bloom and p.bloom]
    models, usage = manifest.get("models"), manifest.get("usage")
    return ReportData(
        domain=str(manifest.get("domain", "")),
        models=models if isinstance(models, dict) else {},
        datasets=len(datasets),
        datasets_with_papers=len(per_dataset),
        papers=len({p.id for p in view.records("collect", Paper)}),
        rows=len(pairs),
        waiting=view.waiting(),
        funnel=tuple(_stage_row(name, funnel) for name in (s.stage for s in PLAN)),
        types=tuple(_type_rows(pairs, by_type)),
        papers_per_dataset=_histogram(per_dataset[d] for d in datasets),
        aspects=tuple(_aspect_rows(view)),
        bloom={level: bloom.get(level, 0) for level in LEVELS},
        bloom_by_type=_cross(pairs),
        bloom_agreement=sum(a == b for a, b in intended) / len(intended) if intended else None,
        diversity=diversity_index(bloom) if bloom else None,
        hops=_histogram(p.hops for p in pairs),
        scores=tuple(_scores(pairs, rejections)),
        defects=dict(Counter(r.code for r in rejections if r.stage in ("generate", "filter")).most_common()),
        candidates=funnel["generate"]["outputs"],
        usage=usage if isinstance(usage, dict) else {},
        sample=tuple(_sample(view, pairs, rejections, datasets, sample)),
    )


def diversity_index(levels: Counter[str]) -> float:
    """Cognitive diversity: Shannon entropy of the distribution over C1..C6 divided by log 6, so 0 (one level) to 1 (even)."""
    total = sum(levels.values())
    entropy = -sum(n / total * math.log(n / total) for n in levels.values() if n)
    return max(0.0, entropy / math.log(len(LEVELS)))


def _slim(pairs: Iterable[QAPair]) -> Iterator[QAPair]:
    # Per-token log-probabilities are most of a pair's size, and no figure needs them.
    for pair in pairs:
        scores = tuple(
            s.model_copy(update={"tokens": (), "logprobs_with": (), "logprobs_without": ()}) for s in pair.scores
        )
        yield pair.model_copy(update={"scores": scores})


def _stage_row(name: str, funnel: dict[str, dict[str, int]]) -> StageRow:
    row, step = funnel[name], next(s for s in PLAN if s.stage == name)
    return StageRow(
        stage=name,
        reads=step.reads,
        item=step.item,
        done=row["done"],
        todo=row["todo"],
        failed=row["failed"] + row["partial"],
        outputs=row["outputs"],
        rejected={k.split(":", 1)[1]: n for k, n in row.items() if k.startswith("rejected:")},
        failures={k.split(":", 1)[1]: n for k, n in row.items() if k.startswith("failed:")},
    )


def _type_rows(pairs: list[QAPair], rejected: dict[str, dict[str, int]]) -> Iterator[TypeRow]:
    grouped: dict[str, list[QAPair]] = defaultdict(list)
    for pair in pairs:
        grouped[pair.question_type].append(pair)
    for name in sorted({*grouped, *rejected}, key=lambda n: (-len(grouped.get(n, ())), n)):
        group = grouped.get(name, [])
        yield TypeRow(
            question_type=name,
            rows=len(group),
            share=len(group) / len(pairs) if pairs else 0.0,
            question_words=_mean(len(p.question.split()) for p in group),
            answer_words=_mean(len(p.answer.split()) for p in group),
            rejected=rejected.get(name, {}),
        )


def _aspect_rows(view: StoreView) -> Iterator[AspectRow]:
    words: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    sentences: Counter[str] = Counter()
    for aspect in view.records("verify", Aspect):
        words[aspect.category][(aspect.dataset_id or "", aspect.paper_id)] += len(aspect.span.text.split())
        sentences[aspect.category] += 1
    for name in sorted(words):
        groups = words[name]
        yield AspectRow(aspect=name, groups=len(groups), sentences=sentences[name], words=_mean(groups.values()))


def _cross(pairs: list[QAPair]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        if pair.bloom:
            table[pair.question_type][pair.bloom] += 1
    return {name: {level: table[name][level] for level in LEVELS} for name in sorted(table)}


def _scores(pairs: list[QAPair], rejections: list[Rejection]) -> Iterator[ScoreRow]:
    for pair in pairs:
        for score in pair.scores:
            yield ScoreRow(
                name=score.name,
                value=score.value,
                threshold=score.threshold,
                accepted=True,
                question_type=pair.question_type,
            )
    for rejection in rejections:
        if rejection.stage == "filter" and rejection.score is not None:
            pair_scores = _rejected_pair(rejection)
            for score in pair_scores.scores if pair_scores else ():
                yield ScoreRow(
                    name=score.name, value=score.value, threshold=score.threshold, accepted=False,
                    question_type=rejection.question_type or "",
                )  # fmt: skip


def _sample(
    view: StoreView, pairs: list[QAPair], rejections: list[Rejection], titles: dict[str, str], size: int
) -> Iterator[SampleRow]:
    texts = _Texts(view)
    for pair in _drawn(pairs, size):
        yield SampleRow(
            id=pair.id, status="accepted", stage="tag", code="", reason="", question=pair.question, answer=pair.answer,
            question_type=pair.question_type, bloom=pair.bloom or "", dataset=titles.get(pair.dataset_id, pair.dataset_id),
            evidence=tuple(texts.around(s) for s in pair.evidence), scores={s.name: s.value for s in pair.scores},
        )  # fmt: skip
    for rejection in _drawn([r for r in rejections if r.record_kind == "QAPair"], size):
        found = _rejected_pair(rejection)
        yield SampleRow(
            id=rejection.record_id, status="rejected", stage=rejection.stage, code=rejection.code, reason=rejection.reason,
            question=found.question if found else rejection.record[:500], answer=found.answer if found else "",
            question_type=rejection.question_type or "", bloom="",
            dataset=titles.get(rejection.dataset_id or "", rejection.dataset_id or ""),
            evidence=tuple(texts.around(s) for s in found.evidence) if found else (),
            scores={s.name: s.value for s in found.scores} if found else {},
        )  # fmt: skip


def _drawn(rows: list[R], size: int) -> list[R]:
    """At most ``size`` rows in their order, the same ones for the same run, spread over everything."""
    if len(rows) <= size:
        return rows
    chosen = random.Random(derived_seed("report", len(rows))).sample(range(len(rows)), size)
    return [rows[i] for i in sorted(chosen)]


def _rejected_pair(rejection: Rejection) -> QAPair | None:
    try:
        return QAPair.model_validate_json(rejection.record)
    except ValueError:
        return None


class _Texts:
    """Texts of documents and datasets by id, a few held at a time."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._known: dict[str, tuple[str, str]] = {}

    def around(self, span: Span) -> Highlight:
        text, name = self._text(span.document_id)
        where = name + (f", page {span.page}" if span.page else "")
        if text[span.start : span.end] != span.text:
            return Highlight(before="", text=span.text, after="", where=where)
        return Highlight(
            before=text[max(0, span.start - _AROUND) : span.start],
            text=span.text,
            after=text[span.end : span.end + _AROUND],
            where=where,
        )

    def _text(self, id: str) -> tuple[str, str]:
        if id not in self._known:
            if len(self._known) > 16:
                self._known.clear()
            self._known[id] = self._load(id)
        return self._known[id]

    def _load(self, id: str) -> tuple[str, str]:
        for kind, result in self._view.find(id):
            for record in result.outputs():
                if kind == "Document" and isinstance(record, Document) and record.id == id:
                    return record.text, record.title or record.paper_id
                if kind == "Dataset" and isinstance(record, Dataset) and record.id == id:
                    return record.text, "metadata: " + record.title
        return "", id


def _histogram(values: Iterable[int]) -> dict[str, int]:
    return {str(k): n for k, n in sorted(Counter(values).items())}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
