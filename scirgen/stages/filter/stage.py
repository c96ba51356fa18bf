"""Stage 8: decides which candidates of a dataset are kept. Gates in order of cost, then faithfulness, then gates that
compare pairs or read a score.

The release finds near-duplicates between datasets, since it sees the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from scirgen.core.config import Config
from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.fingerprint import digest
from scirgen.core.plugincode import plugin_code
from scirgen.core.records import Aspect, Dataset, Document, Failure, QAPair, Rejection, context_text
from scirgen.core.registry import Registry, known_needs, load_registry, returned_list
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import Role, Scope, Stage, StageContext, StageResult, Uses, WorkItem, made_stage
from scirgen.stages.filter.base import MATERIAL, MODELS, Gate, Material, Need, PairGate, Verdict
from scirgen.stages.filter.deciding import (
    AUTO,
    check_unsure,
    failing,
    outcome,
    possible_names,
    score_all,
    scorer_names,
    select_scorers,
    sentence,
)


class FilterStage(Stage):
    """Accepted pairs with their scores, a `Rejection` for each other pair, and a `Failure` for each pair without a
    verdict."""

    name: ClassVar[str] = "filter"
    version: ClassVar[int] = 6
    refuse_empty: ClassVar[bool] = True
    more_gates: ClassVar[tuple[str, ...]] = ()
    """Gates beside those that are on by default; a variant for a prompt pack names them."""

    def uses(self, config: Config) -> Uses:
        """The registry provides gates, scorers and their prompts, so they enter through each item's salt."""
        needs = _needed(config, load_registry())
        if "entailment" in needs and config.filter.entailment.startswith("score:"):
            needs.add("scorer")
        if "judge" in needs and not config.models.judge:
            needs = needs - {"judge"} | {"generator"}
        roles: tuple[Role, ...] = ("scorer", "generator", "judge")
        return Uses(
            config=("filter", "language"),
            taxonomies=("graesser", "wording", "bloom"),
            roles=tuple(r for r in roles if r in needs),
        )

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse gates and scorers that do not exist."""
        select_gates(config, registry)
        for scorer in {*config.filter.faithfulness, *config.filter.thresholds} - {AUTO}:
            registry.get("faithfulness", scorer)

    def notes(self, ctx: StageContext) -> Iterable[str]:
        """The gates that cannot reject by wording, since the language has no patterns."""
        if silent := silent_gates(ctx.config, ctx.registry, ctx.taxonomies, ctx.pack):
            yield (
                f"no patterns for language {ctx.config.language!r}: {', '.join(silent)} cannot reject by wording "
                "(docs/prompts.md, 'Another language')"
            )

    def check(self, ctx: StageContext) -> None:
        """Refuse thresholds that nothing would read, and scorers that do not suit the run's models."""
        check_thresholds(ctx)
        check_unsure(ctx)
        for scorer in select_scorers(scorer_names(ctx), ctx.registry):
            scorer.check(ctx)

    def definitions(self, ctx: StageContext) -> str:
        """Hash of the gates and scorers in force, with their versions and prompts, also those of plugins."""
        if ctx.config.generate.off:
            return ""
        parts: list[object] = []
        for gate in select_gates(ctx.config, ctx.registry, ctx.pack):
            prompts = [ctx.prompt(name).hash for name in gate.prompts]
            parts.append((gate.code, gate.version, prompts, *filter(None, [plugin_code(type(gate))])))
            if "generator" in gate.models():
                parts.append(str(ctx.chat.identity))
            if identity := gate.identity(ctx):
                parts.append((gate.code, identity))
        for scorer in select_scorers(scorer_names(ctx), ctx.registry):
            prompts = [ctx.prompt(name).hash for name in scorer.prompts]
            code = filter(None, [plugin_code(type(scorer))])
            parts.append((scorer.name, scorer.version, prompts, scorer.identity(ctx), *code))
        return digest(parts)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """One item: this round's candidates, with the pairs that earlier rounds accepted."""
        made = (*scope.outputs("answer", QAPair), *scope.outputs("generate", QAPair))
        candidates = [p for p in made if p.round == scope.round]
        if not candidates:
            return
        accepted = [p for p in scope.outputs("filter", QAPair) if p.round < scope.round]
        cited = {s.document_id for p in candidates for s in p.evidence}
        documents = [d for d in scope.outputs("parse", Document) if d.id in cited]
        aspects = scope.outputs("verify", Aspect)
        key = scope.dataset.id + (f"#{scope.round}" if scope.round else "")
        yield WorkItem(
            key=key,
            inputs=(scope.dataset, *documents, *aspects, *accepted, *candidates),
            parameters={"round": scope.round},
            salt=self.definitions(ctx),
        )

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Judge the candidates of one dataset together."""
        round_ = item.parameters.get("round", 0)
        pairs = sorted(item.of(QAPair), key=lambda p: p.id)
        candidates = [p for p in pairs if p.round == round_]
        material = material_of(item, tuple(p for p in pairs if p.round != round_))
        found = _Outcome(ctx)
        gates = select_gates(ctx.config, ctx.registry, ctx.pack)
        single = await _gated(candidates, [g for g in gates if not g.after_scores], material, found)
        faithful = await _faithful(single, material, found)
        accepted = await _gated(faithful, [g for g in gates if g.after_scores], material, found)
        # Accepted pairs keep the provenance of their generation; the store knows which item of this stage accepted
        # them.
        return StageResult(tuple(accepted), tuple(found.rejections), tuple(found.failures))


async def _gated(pairs: list[QAPair], gates: Sequence[Gate], material: Material, found: _Outcome) -> list[QAPair]:
    """The pairs that pass the gates."""
    for gate in gates:
        judged = [p for p in pairs if not (gate.known_items and p.sought)]
        if not judged:
            continue
        verdicts = await verdicts_of(gate, judged, material, found.ctx)
        kept = [p for p in pairs if p not in judged]
        for pair, verdict in zip(judged, verdicts, strict=True):
            if verdict.error is not None:
                found.failed(pair, verdict.error)
            elif verdict.accept:
                kept.append(pair)
            else:
                found.rejected(pair, gate.code, verdict.reason, verdict.score)
        pairs = sorted(kept, key=lambda p: p.id)
    return pairs


async def verdicts_of(gate: Gate, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
    """A gate's verdicts, one a pair.

    Raises:
        PluginError: it gave something else; the message names its member and line.
    """
    member = gate.judge if isinstance(gate, PairGate) else gate.check
    given = await gate.check(pairs, material, ctx)
    return returned_list(member, given, Verdict, "a scirgen.Verdict", len(pairs))


def _needed(config: Config, registry: Registry) -> set[Need]:
    """The models that the gates and scorers in force ask."""
    needs: set[Need] = {need for s in select_scorers(possible_names(config), registry) for need in s.needs}
    return needs.union(*(gate.models() for gate in select_gates(config, registry)))


def select_gates(config: Config, registry: Registry, pack: str = "standard") -> list[Gate]:
    """The gates in force, in the order they run: cheapest first, and last those that compare pairs or read a score.

    Args:
        config, registry: settings and gates.
        pack: prompts of the model that writes; the stage's variant for it may add gates.

    Raises:
        PluginError: a configured gate does not exist ("did you mean").
    """
    more = _gates_of(pack, registry)
    wanted = config.filter.gates or [
        name for name in registry.names("gate") if name in more or _is_wanted(name, config, registry)
    ]
    for code in config.filter.gate_options:
        registry.get("gate", code)
    gates = [cast("type[Gate]", registry.get("gate", name))() for name in wanted]
    for gate in gates:
        known_needs(gate, gate.needs, MODELS | MATERIAL)
    chosen = [g for g in gates if _enabled(g, config, more)]
    return sorted(chosen, key=_turn)


def _is_wanted(name: str, config: Config, registry: Registry) -> bool:
    """Tells whether a gate is considered without a list of gates: scirgen's own always, a plugin's if the settings
    name it,
    so that installing a plugin changes no release."""
    return registry.provider("gate", name) == "scirgen" or name in config.filter.gate_options or name in config.sections


def _turn(gate: Gate) -> tuple[bool, bool, int, str]:
    return gate.after_scores, bool(gate.models()), gate.order, gate.code


def _gates_of(pack: str, registry: Registry) -> tuple[str, ...]:
    """The gates that the stage's variant for a prompt pack adds."""
    name = f"{FilterStage.name}.{pack}"
    variant = made_stage(registry, name) if name in registry.names("stage") else None
    return variant.more_gates if isinstance(variant, FilterStage) else ()


def _enabled(gate: Gate, config: Config, more: Sequence[str]) -> bool:
    options = config.filter.gate_options.get(gate.code)
    if options is not None and options.enabled is not None:
        return options.enabled
    return gate.on_by_default or gate.code in (*config.filter.gates, *more)


def silent_gates(config: Config, registry: Registry, taxonomies: Taxonomies, pack: str = "standard") -> list[str]:
    """Codes of the gates in force that have no patterns for ``config.language`` and so accept every pair, in part or
    in whole."""
    wording = taxonomies.wording.of(config.language)
    return [g.code for g in select_gates(config, registry, pack) if not g.speaks(config.language, wording)]


def describe_gates(config: Config, registry: Registry) -> list[dict[str, object]]:
    """All registered gates in the order they would run: code, on, small (also on where a small
    model writes), threshold (None: it has none), models it asks, explanation."""
    on, small = {g.code for g in select_gates(config, registry)}, _gates_of("small", registry)
    gates = [cast("type[Gate]", registry.get("gate", name))() for name in registry.names("gate")]
    return [
        {
            "code": g.code,
            "on": g.code in on and g.in_force(config),
            "small": g.code in small,
            "threshold": None if g.default_threshold is None else g.threshold(config),
            "models": ", ".join(sorted(g.models())),
            "explanation": g.explanation,
        }
        for g in sorted(gates, key=_turn)
    ]


def material_of(item: WorkItem, accepted: tuple[QAPair, ...] = ()) -> Material:
    """The material against which the pairs of an item are judged."""
    dataset, aspects = item.one(Dataset), item.of(Aspect)
    sources = {dataset.id: dataset.text} | {d.id: d.text for d in item.of(Document)}
    return Material(dataset, aspects, context_text(dataset, aspects), sources, accepted)


class _Outcome:
    """Collects the rejections and failures."""

    def __init__(self, ctx: StageContext) -> None:
        self.ctx = ctx
        self.rejections: list[Rejection] = []
        self.failures: list[Failure] = []

    def rejected(self, pair: QAPair, code: str, reason: str, score: float | None) -> None:
        self.rejections.append(self.ctx.reject(code, reason, pair, score=score))

    def failed(self, pair: QAPair, error: Exception) -> None:
        if not isinstance(error, ScirgenError):
            error = ModelError(f"{type(error).__name__}: {error}", code="error")
        if error.fatal:
            raise error
        self.failures.append(Failure.of(self.ctx.stage, error, pair.id))


async def _faithful(pairs: Sequence[QAPair], material: Material, found: _Outcome) -> list[QAPair]:
    """Return the pairs that the faithfulness scores keep, with those scores; unsure ones as ``filter.unsure`` says."""
    ctx = found.ctx
    accepted = []
    for scored, error in (await score_all(pairs, material, ctx)).values():
        decided = outcome(scored)
        if error is not None:
            found.failed(scored, error)
        elif (against := failing(scored)) is not None and scored.sought and against.name != JUDGE:
            # The scores were fitted on single facts; what several sentences say together they can only doubt.
            accepted.append(scored.model_copy(update={"unsure": True}))
        elif against is not None:
            found.rejected(scored, against.name, sentence(against, ctx.registry), against.value)
        elif decided == "unsure" and ctx.config.filter.unsure == "reject":
            found.rejected(scored, "unsure", UNSURE, None)
        else:
            accepted.append(scored.model_copy(update={"unsure": True}) if decided == "unsure" else scored)
    return accepted


JUDGE = "llm_judge"
UNSURE = "the scores cannot decide, and no judge did"


def check_thresholds(ctx: StageContext) -> None:
    """Refuse thresholds that nothing would read.

    Raises:
        PluginError: they are for a scorer that does not exist ("did you mean").
        ResourceError: they are for a question type that the taxonomy does not have.
    """
    config = ctx.config.filter
    for name in config.thresholds:
        ctx.registry.get("faithfulness", name)
    for kinds in config.thresholds.values():
        ctx.taxonomies.question_types([kind for kind in kinds if kind != "*"])
