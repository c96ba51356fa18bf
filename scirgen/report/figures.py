"""Computes the figures of a run from its store."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern

from scirgen.claims.needed import needed_evidence
from scirgen.core.records import (
    Aspect,
    BlockKind,
    Dataset,
    Document,
    Link,
    Paper,
    QAPair,
    Rejection,
    Score,
    SectionLabel,
    Span,
    count_links,
    rejected_pair,
    users_of,
)
from scirgen.pipeline.plan import PLAN, WRITERS, Step
from scirgen.pipeline.views.view import StoreView, costliest_papers, open_view
from scirgen.release_files.release import Release
from scirgen.report.about import day_of, field_of, judgements, most_rows, publishing
from scirgen.report.counting import (
    Counted,
    Nearest,
    accepted_row,
    aspect_rows,
    drawn,
    figures_of,
    histogram,
    score_rows,
)
from scirgen.report.data import (
    SHOWN_SPAN,
    Highlight,
    NearRow,
    PaperRow,
    ReportData,
    SampleRow,
    ScoreRow,
    StageRow,
    cut_out,
    highlights,
    shown,
)

_NAMED = 50  # papers of a kind whose names a report keeps


def gather(folder: Path, *, sample: int = 300) -> ReportData:
    """Read a run's folder and compute every figure.

    Args:
        folder: the run's folder.
        sample: largest number of accepted rows, and of rejected ones, in a random sample that is the same for the same
            run and includes rows of every question type and reason.

    Raises:
        InputError: the folder is not a run.
        StoreError: its store is damaged.
    """
    with open_view(folder) as view:
        data = _gather(view, sample)
    release = Release(folder) if (folder / "release" / "release.json").is_file() else None
    judged = judgements(release.info if release else None)
    return data.model_copy(
        update={
            "name": folder.resolve().name, "field": field_of(data.domain), "judged": judged,
            "publishing": publishing(release) if release else None, "tables": release.info.tables if release else {},
            "date": day_of(folder / "manifest.json", folder / "run.db"),
        }
    )  # fmt: skip


def _gather(view: StoreView, sample: int) -> ReportData:
    datasets = {d.id: d.title for d in view.datasets()}
    scores: list[ScoreRow] = []
    near = Nearest()
    uses = view.uses()
    used = users_of(uses)
    texts = {x.document_id: used[x.paper_id] for x in view.records("section", SectionLabel) if x.paper_id in used}
    accepted = list(accepted_pairs((p.with_gold(texts, datasets) for p in view.pairs()), scores, near))
    rejections = list(_rejected(view.rejections(), scores, near))
    released = view.released_rows()
    left_out = {r.record_id for r in rejections if r.stage == "release"}
    pairs = [p for p in accepted if p.id not in left_out]
    papers = {p.id: p.file for p in view.records("collect", Paper)}
    unread = {
        r.record_id for r in rejections if (r.stage, r.record_kind) == ("parse", "Paper") and r.code != "print_differs"
    }
    funnel = view.funnel()
    manifest = view.manifest()
    intended = [(p.intended_bloom, p.bloom) for p in pairs if p.intended_bloom and p.bloom]
    models, usage = manifest.get("models"), manifest.get("usage")
    last = manifest.get("usage_last_invocation")
    kept = view.records("verify", Aspect)
    return ReportData(
        domain=str(manifest.get("domain", "")),
        models=models if isinstance(models, dict) else {},
        datasets=len(datasets),
        datasets_with_papers=len(uses),
        datasets_with_rows=len({p.dataset_id for p in pairs if p.dataset_id}),
        links=count_links(view.records("match", Link)),
        papers=len(used),
        papers_collected=len(papers),
        papers_unread=_names(file for id_, file in papers.items() if id_ in unread),
        papers_unused=_names(file for id_, file in papers.items() if id_ not in used and id_ not in unread),
        papers_cited=len({document_id for p in pairs for document_id in p.cited} & texts.keys()),
        dropped_datasets=view.dropped_datasets(),
        rows=len(accepted),
        waiting=view.waiting(),
        funnel=tuple(_stage_row(name, funnel) for name in view.stages()),
        papers_per_dataset=histogram(len(uses.get(d, ())) for d in datasets),
        aspects=tuple(aspect_rows((a.category, a.dataset_id or "", a.paper_id, a.span.text) for a in kept)),
        bloom_agreement=sum(a == b for a, b in intended) / len(intended) if intended else None,
        own=tuple(view.own_questions()),
        seeking=_seeking(manifest) if funnel.get("ask", {}).get("outputs") else 0.0,
        scores=tuple(scores),
        sides=tuple(near.sides()),
        judged_nothing=view.judged_nothing(),
        defects=dict(Counter(r.code for r in rejections if r.stage == "filter").most_common()),
        unwritten=dict(Counter(r.code for r in rejections if r.stage in WRITERS).most_common()),
        costliest=tuple(
            PaperRow(paper=shown(p.title or p.paper_id, 200), calls=p.calls, total=p.total)
            for p in costliest_papers(view)
        ),
        released=sum(released.values()) if released else None,
        bare=max(0, sum(released.values()) - len(pairs)),
        queries=view.queries_by_recipe(),
        candidates=sum(funnel[name]["outputs"] for name in WRITERS if name in funnel),
        usage=_usage(usage, view.tokens_per_released_row()),
        last_usage=last if isinstance(last, dict) else {},
        sample=tuple(_sample(view, accepted, rejections, datasets, texts, sample)),
        sample_of=len(accepted) + sum(r.record_kind == "QAPair" for r in rejections),
        records=most_rows(datasets, {d: len(p) for d, p in uses.items()}, (p.dataset_id for p in pairs)),
        **figures_of(pairs, view.rejected_by_type()),
    )


def _seeking(manifest: Mapping[str, object]) -> float:
    """Return the share of rows that people were to ask, by the run's settings; 0 if they state none."""
    found: object = manifest.get("settings")
    for name in ("generate", "mix"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return float(found.get("seeking", 0.0)) if isinstance(found, Mapping) else 0.0


def _usage(usage: object, per_row: dict[str, float]) -> dict[str, object]:
    """Return the manifest's usage, with the tokens of all models per released row."""
    if not isinstance(usage, dict):
        return {}
    return usage | {f"{name} tokens per released row, all models": n for name, n in per_row.items()}


@dataclass(frozen=True, slots=True)
class _Accepted(Counted):
    """A pair; ``cited`` are the documents of its evidence."""

    intended_bloom: str | None
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rejected:
    """The parts of a rejection that are counted."""

    stage: str
    code: str
    record_kind: str
    record_id: str


def accepted_pairs(pairs: Iterable[QAPair], scores: list[ScoreRow], near: Nearest) -> Iterator[_Accepted]:
    """Yield the pairs, without fields that no figure needs; their scores are added to ``scores`` and ``near``."""
    for pair in pairs:
        scores += score_rows(pair.scores, pair.question_type, accepted=True)
        for score in pair.scores:
            if score.passed:
                near.add(score.name, _near(pair, score), kept=True)
        yield _Accepted(
            pair.id, intern(pair.dataset_id if pair.gold else ""), pair.question, pair.answer,
            intern(pair.question_type), pair.bloom, len(needed_evidence(pair)), pair.asked, pair.link,
            pair.intended_bloom, tuple({intern(span.document_id) for span in pair.evidence}),
        )  # fmt: skip


def _names(files: Iterable[str | None]) -> tuple[str, ...]:
    """Return the names of the first files."""
    return tuple(sorted(Path(file).name[:80] for file in files if file)[:_NAMED])


def _stage_row(name: str, funnel: dict[str, dict[str, int]]) -> StageRow:
    row, step = funnel[name], next((s for s in PLAN if s.stage == name), Step(name, "", "", ""))
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


def _rejected(rejections: Iterable[Rejection], scores: list[ScoreRow], near: Nearest) -> Iterator[_Rejected]:
    """Yield the rejections without the records they reject, which are most of a store.

    Scores of rejected pairs are added to ``scores``; pairs that a score rejected, to ``near``.
    """
    for rejection in rejections:
        if rejection.stage == "filter" and rejection.score is not None and (pair := rejected_pair(rejection)):
            scores += score_rows(pair.scores, rejection.question_type or "", accepted=False)
            for score in pair.scores:
                if score.name == rejection.code and score.threshold is not None:
                    near.add(score.name, _near(pair, score, rejection.reason), kept=False)
        yield _Rejected(
            intern(rejection.stage), intern(rejection.code), intern(rejection.record_kind), rejection.record_id
        )


def _near(pair: QAPair, score: Score, reason: str = "") -> NearRow:
    return NearRow(
        id=pair.id,
        question=shown(pair.question, SHOWN_SPAN),
        answer=shown(pair.answer, SHOWN_SPAN),
        value=score.value,
        threshold=score.threshold or 0.0,
        reason=reason,
    )


def _sample(
    view: StoreView,
    pairs: list[_Accepted],
    rejections: list[_Rejected],
    titles: dict[str, str],
    users: Mapping[str, list[str]],
    size: int,
) -> Iterator[SampleRow]:
    texts = _Texts(view)
    shown_pairs = {p.id: p.dataset_id for p in drawn(pairs, size, lambda p: p.question_type)}
    for pair in view.pairs():
        if (about := shown_pairs.get(pair.id)) is None:
            continue
        evidence = highlights(pair.evidence, texts.around, texts.table)
        yield accepted_row(pair, "tag", titles.get(about, about), evidence)
    chosen = {
        (r.stage, r.code, r.record_id)
        for r in drawn([r for r in rejections if r.record_kind == "QAPair"], size, lambda r: r.code)
    }
    for rejection in view.rejections() if chosen else ():
        if (rejection.stage, rejection.code, rejection.record_id) not in chosen:
            continue
        chosen.remove((rejection.stage, rejection.code, rejection.record_id))
        found = rejected_pair(rejection)
        told = found.with_gold(users, titles) if found else rejection
        about = "" if isinstance(told, QAPair) and not told.gold else told.dataset_id or ""
        yield SampleRow(
            id=rejection.record_id,
            status="rejected",
            stage=rejection.stage,
            code=rejection.code,
            reason=shown(rejection.reason),
            question=shown(found.question) if found else rejection.record[:500] or f"(no question: {rejection.reason})",
            answer=shown(found.answer) if found else "",
            question_type=rejection.question_type or "",
            bloom="",
            dataset=titles.get(about, about) or "about no dataset",
            evidence=highlights(found.evidence, texts.around, texts.table) if found else (),
            scores={s.name: s.value for s in found.scores} if found else {},
        )


class _Texts:
    """Texts of documents and datasets by id, with their names and where their tables begin; only a few are in memory
    at a time."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._known: dict[str, tuple[str, str, list[int]]] = {}

    def around(self, span: Span) -> Highlight:
        text, name, _ = self._text(span.document_id)
        where = name + (f", page {span.page}" if span.page else "")
        return cut_out(text, span.start, span.text, where)

    def table(self, span: Span) -> int:
        return bisect(self._text(span.document_id)[2], span.start)

    def _text(self, id: str) -> tuple[str, str, list[int]]:
        if id not in self._known:
            if len(self._known) > 16:
                self._known.clear()
            self._known[id] = self._load(id)
        return self._known[id]

    def _load(self, id: str) -> tuple[str, str, list[int]]:
        for kind, result in self._view.find(id):
            for record in result.outputs():
                if kind == "Document" and isinstance(record, Document) and record.id == id:
                    tables = [b.start for b in record.blocks if b.kind is BlockKind.TABLE]
                    return record.text, record.title or record.paper_id, tables
                if kind == "Dataset" and isinstance(record, Dataset) and record.id == id:
                    return record.text, "metadata: " + record.title, []
        return "", id, []
