"""`scirgen calibrate`: measures faithfulness scores on labelled answers and finds thresholds."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from scirgen import Config, InputError, Material, QAPair, ScirgenError, Score, Span, StageContext
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.llm.session import ScoreSession
from scirgen.plugin import (
    ChatSession,
    PromptLibrary,
    Registry,
    Resources,
    Taxonomies,
    digest,
    grouped,
    open_sessions,
    read_objects,
)
from scirgen.stages.filter.deciding import AUTO, possible_names, select_scorers
from scirgen.stages.filter.faithfulness.calibrated import coefficients_for
from scirgen.stages.filter.stage import FilterStage
from scirgen_bench.calibrate.coefficients import Fitted, fit, measure
from scirgen_bench.calibrate.quality import (
    GroupQuality,
    Judged,
    Quality,
    auc_interval,
    fitting,
    quality,
    reported,
    roc_auc,
    threshold_for,
    thresholds_by_type,
)
from scirgen_bench.labels.labelset import LabelSet
from scirgen_bench.rowfiles import type_key

_LOG = logging.getLogger("scirgen")
_YES = {"faithful", "true", "yes", "1"}
_NO = {"unfaithful", "false", "no", "0"}
_LABELS_HINT = (
    'Each line is a JSON object with "question", "answer", "label" (faithful or unfaithful) and '
    '"context" or "evidence" (a list of '
    'quotes); "question_type", "dataset", "made" (how a false answer was made) and "scores" are optional.'
)


@dataclass(frozen=True)
class Labelled:
    """One line of a labels file. Existing ``scores`` are used unchanged."""

    question: str
    answer: str
    context: str
    faithful: bool
    question_type: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    weight: float = field(default=1.0, kw_only=True)
    """Number of answers in the population that it represents; a folder of labels has the weights of its strata."""
    part: str = field(default="", kw_only=True)
    """dev or test, in a folder of labels: thresholds are fitted on dev and measured on test."""
    cluster: str = field(default="", kw_only=True)
    """The dataset it is about, in a folder of labels."""
    evidence: tuple[str, ...] = field(default=(), kw_only=True)
    """Quotes; scored instead of the context if the window is evidence."""
    made: str = field(default="", kw_only=True)
    """The way in which a false answer was made, if the labels say so."""

    @property
    def pair(self) -> QAPair:
        """The line as a pair; its evidence, if any, is quotes without a document."""
        made = QAPair.make_id("calibration", self.question_type, self.question, self.answer)
        return QAPair(
            id=made,
            dataset_id="calibration",
            question=self.question,
            answer=self.answer,
            question_type=self.question_type,
            evidence=tuple(Span(document_id="", start=0, end=len(text), text=text) for text in self.evidence),
        )


@dataclass
class Calibrated:
    """The result of `calibrate`, scorer by scorer."""

    rows: int
    faithful: int
    scorers: dict[str, ScorerFindings] = field(default_factory=dict)
    unfiltered: Quality | None = None
    settings: dict[str, object] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    """The question types of the taxonomy: `generate` knows no others."""

    def as_json(self) -> dict[str, object]:
        """Return plain data in the form of ``--json``."""
        return asdict(self)

    def thresholds(self) -> dict[str, object]:
        """Return the settings that make `generate` use the thresholds: a file for ``--config``."""
        known = set(self.types) | {"*"}
        found = {
            name: {k: v for k, v in s.thresholds.items() if k in known}
            for name, s in self.scorers.items()
            if s.thresholds
        }
        return {"filter": {**self.settings, "thresholds": found}}


@dataclass
class ScorerFindings:
    """One scorer on the labels. ``wanted`` is the quality at the threshold for the wanted precision, or None if no
    threshold reaches it."""

    scored: int
    failed: dict[str, int]
    auc: float | None
    auc_interval: tuple[float, float] | None
    configured: Quality
    wanted: Quality | None
    thresholds: dict[str, float]
    by_type: dict[str, GroupQuality]
    by_length: dict[str, GroupQuality]


def read_labels(path: Path) -> list[Labelled]:
    """Read a labels file (JSON Lines), or the settled labels of a folder that `scirgen label` made.

    Raises:
        InputError: the file is missing or empty, or a line is wrong; the message names file and line.
    """
    if path.is_dir():
        return _settled(LabelSet(path))
    rows = [_labelled(value, f"{path}:{number}") for number, value in read_objects(path, hint=_LABELS_HINT)]
    if not rows:
        raise InputError(f"{path} contains no labels", hint=_LABELS_HINT)
    if len({r.faithful for r in rows}) < 2:
        raise InputError(
            f"{path}: all {len(rows)} labels are the same", hint="Calibration needs faithful and unfaithful answers."
        )
    return rows


def _labelled(value: Mapping[str, object], where: str) -> Labelled:
    wanted = ("question", "answer", "label") if value.get("evidence") else ("question", "answer", "context", "label")
    missing = [k for k in wanted if k not in value]
    if missing:
        raise InputError(f"{where}: {', '.join(missing)} missing", hint=_LABELS_HINT)
    label = str(value["label"]).strip().lower()
    if label not in _YES | _NO:
        raise InputError(f"{where}: label {value['label']!r} must be faithful or unfaithful", hint=_LABELS_HINT)
    scores = value.get("scores") or {}
    if not isinstance(scores, dict) or not all(isinstance(v, (int, float)) for v in scores.values()):
        raise InputError(f"{where}: scores must map names to numbers", hint=_LABELS_HINT)
    evidence = value.get("evidence") or []
    if not isinstance(evidence, list) or not all(isinstance(e, str) for e in evidence):
        raise InputError(f"{where}: evidence must be a list of quotes", hint=_LABELS_HINT)
    return Labelled(
        str(value["question"]), str(value["answer"]), str(value.get("context") or "\n".join(evidence)), label in _YES,
        type_key(str(value.get("question_type") or "")), {str(k): float(v) for k, v in scores.items()},
        evidence=tuple(evidence), cluster=str(value.get("dataset") or ""), made=str(value.get("made") or ""),
    )  # fmt: skip


async def calibrate(
    rows: Sequence[Labelled], config: Config, resources: Resources, registry: Registry, *, precision: float
) -> Calibrated:
    """Score the labelled answers with the configured scorers and measure the scores.

    Args:
        rows: from `read_labels`.
        config: ``filter.faithfulness`` names the scorers, ``models`` the models that they use.
        resources: prompts and taxonomies.
        registry: registry of scorers and models.
        precision: the precision that the suggested thresholds must reach on these labels.
    """
    names = tuple(n for n in possible_names(config) if n != "llm_judge" or AUTO not in config.filter.faithfulness)
    measured = {name: [r.scores.get(name) for r in rows] for name in names}
    failed: dict[str, dict[str, int]] = {name: {} for name in names}
    if any(v is None for column in measured.values() for v in column):
        async with opened(config, resources, registry) as ctx:
            if AUTO in config.filter.faithfulness and coefficients_for(config, ctx.scorer.identity) is None:
                names = tuple(n for n in names if n != "calibrated")
            await _measure(rows, names, ctx, measured, failed)
    found = Calibrated(len(rows), sum(r.faithful for r in rows))
    found.types = tuple(t.id for t in Taxonomies(resources).graesser.types)
    found.settings = {
        "faithfulness": list(names), "window": config.filter.window,
        "shift_form": config.filter.shift_form,
    }  # fmt: skip
    everything = [Judged(0.0, r.faithful, weight=r.weight, cluster=r.cluster, part=r.part) for r in rows]
    everything = reported(everything)
    found.unfiltered = quality(everything, float("-inf"), resamples=1000)
    for scorer in select_scorers(names, registry):
        judged = [
            Judged(value, r.faithful, r.question_type, len(r.answer.split()), r.weight, r.cluster, r.part)
            for value, r in zip(measured[scorer.name], rows, strict=True)
            if value is not None
        ]
        edges = config.filter.thresholds.get(scorer.name, {}).get("*", scorer.edges(config))
        threshold = edges[0] if isinstance(edges, tuple) else edges
        found.scorers[scorer.name] = findings(judged, failed[scorer.name], threshold, precision)
    return found


async def measure_score(
    name: str, rows: Sequence[Labelled], config: Config, resources: Resources, registry: Registry
) -> tuple[list[float | None], dict[str, int], str]:
    """Return one scorer's values for labelled answers (None for an answer without one), failures by code, and the model
    that was asked."""
    config = config.model_copy(update={"filter": config.filter.model_copy(update={"faithfulness": (name,)})})
    measured: dict[str, list[float | None]] = {name: [None] * len(rows)}
    failed: dict[str, dict[str, int]] = {name: {}}
    async with opened(config, resources, registry) as ctx:
        await _measure(rows, (name,), ctx, measured, failed)
        asked = [s.identity for s in (ctx.score_session, ctx.judge_session) if s is not None]
        return measured[name], failed[name], " and ".join(map(str, asked)) or "no model"


def findings(rows: Sequence[Judged], failed: dict[str, int], threshold: float, precision: float) -> ScorerFindings:
    """Return all numbers of one scorer. If rows are dev and test items, thresholds are fitted on dev, and everything
    else is measured on test."""
    dev = fitting(rows)
    rows = reported(rows)
    fitted = threshold_for(dev, precision)
    return ScorerFindings(
        scored=len(rows),
        failed=failed,
        auc=roc_auc(rows),
        auc_interval=auc_interval(rows),
        configured=quality(rows, threshold, resamples=1000),
        wanted=quality(rows, fitted, resamples=1000) if fitted is not None else None,
        thresholds=thresholds_by_type(dev, precision),
        by_type={k: _group(g, precision) for k, g in sorted(grouped((r.question_type, r) for r in rows).items())},
        by_length={k: _group(g, precision) for k, g in sorted(grouped((r.length, r) for r in rows).items())},
    )


def _group(rows: list[Judged], precision: float) -> GroupQuality:
    return GroupQuality(len(rows), sum(r.faithful for r in rows), roc_auc(rows), threshold_for(rows, precision))


@asynccontextmanager
async def opened(
    config: Config, resources: Resources, registry: Registry, *, judged: bool = False
) -> AsyncIterator[StageContext]:
    """Open a context of the filter stage with the configured scorers' models; ``judged``: those of auto too."""
    roles = FilterStage().uses(config).roles
    asks = {"generator", "judge"} & set(roles) and (judged or AUTO not in config.filter.faithfulness)
    async with AsyncExitStack() as closing:
        prompts = PromptLibrary(resources)
        chat: ChatSession | None = None
        judge: ChatSession | None = None
        scorer: ScoreSession | None = None
        if asks:
            opened = await open_sessions(config, registry, prompts=prompts, needs_scores="scorer" in roles)
            sessions = await closing.enter_async_context(opened)
            chat, scorer, judge = sessions.chat, sessions.score, sessions.judge
        elif "scorer" in roles:
            model = await open_scoring(config.models.scorer or config.models.generator, config, registry)
            closing.push_async_callback(model.aclose)
            scorer = CachedScoreSession(model, limits=config.limits)
        folder = Path(closing.enter_context(TemporaryDirectory(prefix="scirgen-calibrate-")))
        yield StageContext(
            config, resources, prompts, Taxonomies(resources), registry, folder, chat, scorer,
            log=_LOG, stage="filter", key="calibration", judge_session=judge,
        )  # fmt: skip


async def _measure(
    rows: Sequence[Labelled],
    names: Sequence[str],
    ctx: StageContext,
    measured: dict[str, list[float | None]],
    failed: dict[str, dict[str, int]],
) -> None:
    contexts = grouped((row.context, index) for index, row in enumerate(rows))
    pairs = [row.pair for row in rows]
    scorers = select_scorers(names, ctx.registry)
    for scorer in scorers:
        column = measured[scorer.name]
        read_later = scorer.name == "shift" and "calibrated" in names
        for context, indices in contexts.items():
            todo = [i for i in indices if column[i] is None or read_later]
            if not todo:
                continue
            scores = await scorer.score([pairs[i] for i in todo], Material(None, (), context), ctx)
            for i, score in zip(todo, scores, strict=True):
                if isinstance(score, Score):
                    pairs[i] = pairs[i].model_copy(update={"scores": (*pairs[i].scores, score)})
                    if column[i] is None:
                        column[i] = None if score.abstained else score.value
                    continue
                code = _code_of(score)
                failed[scorer.name][code] = failed[scorer.name].get(code, 0) + 1


async def fit_coefficients(
    rows: Sequence[Labelled],
    config: Config,
    resources: Resources,
    registry: Registry,
    *,
    description: str,
    precision: float = 0.98,
    tell: Callable[[str], None] = _LOG.info,
) -> tuple[Fitted, dict[str, object]]:
    """Fit the coefficients of ``calibrated`` on labelled answers, and measure them on datasets that were left out.

    Args:
        rows: of `read_labels`; lines with the same ``dataset`` (or without one, the same context) are left out
            together.
        config, resources, registry: as for `calibrate`.
        description: description of the labels.
        precision: see `coefficients.fit`.
        tell: called with messages about progress and about labels that could not be measured.

    Returns:
        The coefficients, and their out-of-sample figures.
    """
    asked = config.filter.model_copy(update={"faithfulness": ("shift",)})
    config = config.model_copy(update={"filter": asked})
    async with opened(config, resources, registry) as ctx:
        materials = [Material(None, (), r.context) for r in rows]
        labels = [(r.faithful, r.cluster or r.context[:200], r.made) for r in rows]
        measured = await measure([r.pair for r in rows], labels, materials, ctx, tell)
        found = [m for m in measured if m is not None and not isinstance(m, Exception)]
        failed = Counter(_code_of(m) for m in measured if isinstance(m, Exception))
        if failed:
            tell("not measured: " + ", ".join(f"{n} {code}" for code, n in sorted(failed.items())))
        identity = ctx.scorer.identity
        labelled = [[r.question, r.answer, r.context, list(r.evidence), r.faithful, r.cluster] for r in rows]
        of = digest("labels", labelled)  # whatever scorer measured them
        fitted = fit(found, identity, description=description, precision=precision, labels_hash=of)
    return fitted, fitted.summary(found)


def _code_of(error: Exception) -> str:
    """Return the name under which a failed measurement is counted; a fatal error is raised, since all others would fail
    like it."""
    if isinstance(error, ScirgenError) and error.fatal:
        raise error
    return error.error_code if isinstance(error, ScirgenError) else type(error).__name__


def _settled(labels: LabelSet) -> list[Labelled]:
    """Items with a final label, the weights of their strata and the scores that the run measured."""
    if labels.sample.task != "faithful":
        raise InputError(
            f"{labels.folder} has labels of task {labels.sample.task}",
            hint="Calibration needs labels of task faithful.",
        )
    contexts = labels.contexts()
    rows = [
        Labelled(
            item.shown.question,
            item.shown.answer,
            contexts.get(item.shown.context, "") or "\n".join(e.text for e in item.shown.evidence),
            label == "yes",
            item.hidden.question_type,
            item.hidden.scores,
            weight=item.weight,
            part=item.part,
            cluster=item.cluster,
            evidence=tuple(e.text for e in item.shown.evidence),
        )
        for item in labels.items
        if (label := labels.settled(item.id).label) is not None
    ]
    if len({r.faithful for r in rows}) < 2:
        raise InputError(
            f"{labels.folder}: {len(rows)} settled labels, but not of both kinds",
            hint=f"Calibration needs faithful and unfaithful answers: "
            f"scirgen label merge {labels.folder} A.jsonl B.jsonl",
        )
    return rows
