"""Stage 8: decides which candidates of a dataset are kept. Gates in order of cost, then faithfulness, then gates that
compare pairs or read a score. With a judge, rules and scores only doubt, and the judge looks a second time.

The release finds near-duplicates between datasets, since it sees the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from scirgen.core.config import Config
from scirgen.core.corpus import Passage
from scirgen.core.corpus.questions import Pool
from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.fingerprint import digest
from scirgen.core.records import Aspect, Dataset, Document, Doubt, Failure, QAPair, Rejection, context_text
from scirgen.core.registry import Registry, known_needs, load_registry, returned_list
from scirgen.core.registry.plugincode import made_of
from scirgen.core.safety.files import named_files
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import AUTO, JUDGE, Role, Scope, Stage, StageContext, StageResult, Uses, WorkItem, made_stage
from scirgen.stages.filter import linked, second_look, second_reader
from scirgen.stages.filter.base import MATERIAL, MODELS, Gate, Material, Need, PairGate, Verdict
from scirgen.stages.filter.deciding import (
    Ruling,
    blind_to,
    check_unsure,
    outcome,
    possible_names,
    score_all,
    scorer_names,
    select_scorers,
    sentence,
)
from scirgen.stages.filter.faithfulness.calibrated import read_coefficients
from scirgen.stages.filter.faithfulness.judged import entailment_model


class FilterStage(Stage):
    """Accepted pairs with their scores, a `Rejection` for each other pair, and a `Failure` for each pair without a
    verdict."""

    name: ClassVar[str] = "filter"
    version: ClassVar[int] = 11
    refuse_empty: ClassVar[bool] = True
    more_gates: ClassVar[tuple[str, ...]] = ()
    """Extra gates that a prompt pack's variant of the stage turns on."""

    def uses(self, config: Config) -> Uses:
        """Return what results depend on; each item's salt accounts for gates, scorers and their prompts."""
        needs = _needed(config, load_registry())
        if "judge" in needs and not config.models.judge:
            needs = needs - {"judge"} | {"generator"}
        roles: tuple[Role, ...] = ("scorer", "generator", "judge")
        return Uses(
            config=("filter", "language"),
            taxonomies=("graesser", "wording", "bloom"),
            roles=tuple(r for r in roles if r in needs),
        )

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse gates, scorers and coefficients that do not exist."""
        select_gates(config, registry)
        if config.filter.coefficients:
            read_coefficients(named_files(config.filter.coefficients, "filter.coefficients")[0])
        for scorer in {*config.filter.faithfulness, *config.filter.thresholds} - {AUTO}:
            registry.get("faithfulness", scorer)

    def notes(self, ctx: StageContext) -> Iterable[str]:
        """Yield the gates that cannot reject by wording, since the language has no patterns, and the types for which
        the shift is unreliable."""
        if silent := silent_gates(ctx.config, ctx.registry, ctx.taxonomies, ctx.pack):
            yield (
                f"no patterns for language {ctx.config.language!r}: {', '.join(silent)} cannot reject by wording "
                "(docs/prompts.md, 'Another language')"
            )
        if "shift" in scorer_names(ctx) and (blind := blind_to(ctx)) and not ctx.judged:
            kinds = ", ".join(f"{kind} (AUC {auc:.2f})" for kind, auc in blind.items())
            yield f"the scorer does not tell true from false answers of {kinds}: no judge is there, so they stay unsure"

    def check(self, ctx: StageContext) -> None:
        """Refuse thresholds that nothing would read, and scorers that do not suit the run's models or lack one."""
        check_thresholds(ctx)
        if "entailment" in _needed(ctx.config, ctx.registry):
            entailment_model(ctx)
        check_unsure(ctx)
        for scorer in select_scorers(scorer_names(ctx), ctx.registry):
            scorer.check(ctx)

    def definitions(self, ctx: StageContext) -> str:
        """Return the hash of the gates and scorers in force, with their versions and prompts, also those of plugins."""
        if ctx.config.generate.off:
            return ""
        parts: list[object] = []
        if ctx.judged:
            parts += (ctx.prompt(name).hash for name in (second_look.PROMPT, linked.PROMPT, *second_reader.PROMPTS))
        for gate in gates_of(ctx):
            prompts = [ctx.prompt(name).hash for name in gate.prompts]
            parts.append((gate.code, made_of(gate), prompts))
            if "generator" in gate.models():
                parts.append(str(ctx.chat.identity))
            if identity := gate.identity(ctx):
                parts.append((gate.code, identity))
        for scorer in select_scorers(scorer_names(ctx), ctx.registry):
            prompts = [ctx.prompt(name).hash for name in scorer.prompts]
            parts.append((scorer.name, made_of(scorer), prompts, scorer.identity(ctx)))
        return digest(parts)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item: this round's candidates, with the pairs that earlier rounds accepted."""
        made = (*scope.outputs("answer", QAPair), *scope.outputs("generate", QAPair))
        candidates = [p for p in made if p.round == scope.round]
        if not candidates:
            return
        accepted = [p for p in scope.outputs("filter", QAPair) if p.round < scope.round]
        cited = {s.document_id for p in candidates for s in p.evidence}
        documents = [d for d in scope.outputs("parse", Document) if d.id in cited]
        foreign = cited - {scope.dataset.id, *(d.id for d in documents)}
        pools = [p for p in scope.outputs("search", Pool) if any(e.passage.document_id in foreign for e in p.entries)]
        aspects = scope.outputs("verify", Aspect)
        key = scope.dataset.id + (f"#{scope.round}" if scope.round else "")
        yield WorkItem(
            key=key,
            inputs=(scope.dataset, *documents, *aspects, *pools, *accepted, *candidates),
            parameters={"round": scope.round},
            salt=self.definitions(ctx),
        )

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Judge the candidates of one dataset together."""
        round_ = item.parameters.get("round", 0)
        pairs = sorted(item.of(QAPair), key=lambda p: (p.id, p.round, p.strategy))
        sieve = _Sieve(ctx, material_of(item, tuple(p for p in pairs if p.round != round_)))
        gates = gates_of(ctx)
        once = sieve.once([p for p in pairs if p.round == round_])
        remaining = await sieve.gated(once, [g for g in gates if not g.after_scores])
        remaining = await sieve.looked(await sieve.scored(remaining))
        remaining = await sieve.looked(await sieve.gated(remaining, [g for g in gates if g.after_scores]))
        remaining = await sieve.read_again(remaining)
        # Accepted pairs keep the provenance of their generation; the store knows which item of this stage accepted
        # them.
        return StageResult(tuple(remaining), tuple(sieve.rejections), tuple(sieve.failures))


async def verdicts_of(gate: Gate, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
    """Return a gate's verdicts, one per pair.

    Raises:
        PluginError: it gave something else; the message names its member and line.
    """
    member = gate.judge if isinstance(gate, PairGate) else gate.check
    given = await gate.check(pairs, material, ctx)
    return returned_list(member, given, Verdict, "a scirgen.Verdict", len(pairs))


def _needed(config: Config, registry: Registry) -> set[Need]:
    """Return the models that the gates and scorers in force ask."""
    needs: set[Need] = {need for s in select_scorers(possible_names(config), registry) for need in s.needs}
    return needs.union(*(gate.models() for gate in select_gates(config, registry)))


def gates_of(ctx: StageContext) -> list[Gate]:
    """Return a run's gates (`select_gates`); if a judge reads every pair, only those that find faults which it
    misses."""
    return select_gates(ctx.config, ctx.registry, ctx.pack, judged=ctx.judged)


def select_gates(config: Config, registry: Registry, pack: str = "standard", *, judged: bool = False) -> list[Gate]:
    """Return the gates in force, in order: cheapest first, last those that compare pairs or read a score.

    Args:
        config, registry: settings and gates.
        pack: prompts of the model that writes; the stage's variant for it may add gates.
        judged: leave out the gates that find nothing that a judge misses, unless the settings name them.

    Raises:
        PluginError: a configured gate does not exist ("did you mean").
    """
    more, options = _gates_of(pack, registry), config.filter.gate_options
    for code in options:
        registry.get("gate", code)

    def is_on(gate: Gate) -> bool:
        set_ = options[gate.code].enabled if gate.code in options else None
        by_default = gate.on_by_default and (gate.beside_judge or not judged)
        return set_ if set_ is not None else gate.code in (*config.filter.gates, *more) or by_default

    # Installing a plugin changes no release: its gates are on only if the settings name them.
    wanted = config.filter.gates or [
        name
        for name in registry.names("gate")
        if registry.provider("gate", name) == "scirgen" or name in {*more, *options, *config.sections}
    ]
    gates = [cast("type[Gate]", registry.get("gate", name))() for name in wanted]
    for gate in gates:
        known_needs(gate, gate.needs, MODELS | MATERIAL)
    return sorted(filter(is_on, gates), key=_turn)


def _turn(gate: Gate) -> tuple[bool, bool, int, str]:
    return gate.after_scores, bool(gate.models()), gate.order, gate.code


def _gates_of(pack: str, registry: Registry) -> tuple[str, ...]:
    """Return the gates that the stage's variant for a prompt pack adds."""
    name = f"{FilterStage.name}.{pack}"
    variant = made_stage(registry, name) if name in registry.names("stage") else None
    return variant.more_gates if isinstance(variant, FilterStage) else ()


def silent_gates(config: Config, registry: Registry, taxonomies: Taxonomies, pack: str = "standard") -> list[str]:
    """Return the codes of the gates in force that have no patterns for ``config.language`` and so accept every pair, in
    part or in whole."""
    wording = taxonomies.wording.of(config.language)
    return [g.code for g in select_gates(config, registry, pack) if not g.speaks(config.language, wording)]


def describe_gates(config: Config, registry: Registry) -> list[dict[str, object]]:
    """Return all registered gates in the order they would run, each with what `scirgen gates list` shows.

    ``small``: also on where a small model writes. ``beside_judge``: also on where a judge reads every pair.
    ``threshold``: None if it has none.
    """
    on, small = {g.code for g in select_gates(config, registry)}, _gates_of("small", registry)
    gates = [cast("type[Gate]", registry.get("gate", name))() for name in registry.names("gate")]
    return [
        {
            "code": g.code,
            "on": g.code in on,
            "small": g.code in small,
            "beside_judge": g.beside_judge,
            "threshold": None if g.default_threshold is None else g.threshold(config),
            "models": ", ".join(sorted(g.models())),
            "explanation": g.explanation,
        }
        for g in sorted(gates, key=_turn)
    ]


def material_of(item: WorkItem, accepted: tuple[QAPair, ...] = ()) -> Material:
    """Return the material against which the pairs of an item are judged."""
    dataset, aspects = item.one(Dataset), item.of(Aspect)
    documents = {d.id: d for d in item.of(Document)}
    sources = {dataset.id: dataset.text} | {d.id: d.text for d in documents.values()}
    found = {e.passage.id: e.passage for pool in item.of(Pool) for e in pool.entries}
    others = [p for p in found.values() if p.document_id not in sources]
    titles = {p.document_id: p.title for p in others}
    sources |= _found_text(others)
    return Material(dataset, aspects, context_text(dataset, aspects), sources, accepted, documents, titles)


def _found_text(passages: Iterable[Passage]) -> dict[str, str]:
    """Return the text of other documents as far as a search found it: passages at their places, else empty lines."""
    found: dict[str, str] = {}
    for passage in sorted(passages, key=lambda p: (p.document_id, p.start)):
        text = found.get(passage.document_id, "")
        if passage.start >= len(text):
            found[passage.document_id] = text + "\n" * (passage.start - len(text)) + passage.text
    return found


class _Sieve:
    """Takes the pairs of a dataset through the parts of the filter, and collects rejections and failures.

    ``seen``: pair id -> number of its doubts that the judge has looked at.
    """

    def __init__(self, ctx: StageContext, material: Material) -> None:
        self.ctx = ctx
        self.material = material
        self.judged = ctx.judged
        self.seen: dict[str, int] = {}
        self.rejections: list[Rejection] = []
        self.failures: list[Failure] = []

    def _kept(self, rulings: Iterable[Ruling]) -> list[QAPair]:
        """Return the pairs that are kept or, with a judge, doubted, in the order of ids."""
        kept = []
        for one in rulings:
            if one.error is not None:
                self._failed(one.pair, one.error)
            elif one.action == "keep":
                kept.append(one.pair)
            elif one.action == "doubt" and self.judged:
                kept.append(_doubted(one.pair, one.code, one.reason))
            else:
                self.rejections.append(self.ctx.reject(one.code, one.reason, one.pair, score=one.score))
        return sorted(kept, key=lambda p: p.id)

    def _failed(self, pair: QAPair, error: Exception) -> None:
        if not isinstance(error, ScirgenError):
            error = ModelError(f"{type(error).__name__}: {error}", code="error")
        if error.fatal:
            raise error
        self.failures.append(Failure.of(self.ctx.stage, error, pair.id))

    def once(self, pairs: Sequence[QAPair]) -> list[QAPair]:
        """Return the pairs without those that another call, or an earlier round, wrote word for word."""
        first = {p.id: p for p in (*reversed(pairs), *self.material.accepted)}
        again = "written before, with the same answer"
        return self._kept(Ruling(p, "keep" if first[p.id] is p else "reject", "duplicate", again) for p in pairs)

    async def gated(self, pairs: list[QAPair], gates: Sequence[Gate]) -> list[QAPair]:
        """Return the pairs that the gates let through."""
        for gate in gates:
            judged = [p for p in pairs if not (gate.known_items and p.sought)]
            verdicts = await verdicts_of(gate, judged, self.material, self.ctx) if judged else ()
            found = {
                p.id: Ruling(p, "keep" if v.accept else gate.action, gate.code, v.reason, v.score, v.error)
                for p, v in zip(judged, verdicts, strict=True)
            }
            pairs = self._kept(found.get(p.id, Ruling(p)) for p in pairs)
        return pairs

    async def scored(self, pairs: Sequence[QAPair]) -> list[QAPair]:
        """Return the pairs that the faithfulness scores let through; unsure ones as ``filter.unsure`` says."""
        scored = await score_all(pairs, self.material, self.ctx)
        return self._kept(self._ruling(pair, error) for pair, error in scored.values())

    def _ruling(self, pair: QAPair, error: Exception | None) -> Ruling:
        against = [s for s in pair.scores if s.passed is False]
        order = next((s for s in pair.scores if dict(s.parts).get("order")), None)
        if error is not None:
            return Ruling(pair, error=error)
        if against and self.judged and order is None:
            for score in against:
                pair = _doubted(pair, score.name, sentence(score, self.ctx.registry))
            return Ruling(_with_roles(_undecided(pair)))
        first = order or next(iter(against), None)
        if first is not None and (not pair.sought or first.name == JUDGE):
            return Ruling(pair, "reject", first.name, sentence(first, self.ctx.registry), first.value)
        # The scores were fitted on single facts; what several sentences say together they can only doubt.
        unsure = first is not None or outcome(pair) == "unsure"
        if first is None and unsure and self.ctx.config.filter.unsure == "reject":
            return Ruling(pair, "reject", "unsure", UNSURE)
        pair = _with_roles(pair)
        return Ruling(pair.model_copy(update={"unsure": True}) if unsure else pair)

    async def looked(self, pairs: Sequence[QAPair]) -> list[QAPair]:
        """Ask the judge about pairs with new doubts, and drop those it rejects; a mended pair is measured again."""
        doubted = [p for p in pairs if len(p.doubts) > self.seen.get(p.id, 0)]
        if not doubted:
            return list(pairs)
        self.seen |= {p.id: len(p.doubts) for p in doubted}
        cited = {p.id: p.evidence for p in doubted}
        rulings = await second_look.second_look(doubted, self.material, self.ctx)
        names = [name for name in scorer_names(self.ctx) if name != JUDGE]
        mended = [
            r.pair.model_copy(update={"scores": tuple(s for s in r.pair.scores if s.name not in names)})
            for r in rulings
            if r.pair.evidence != cited[r.pair.id]
        ]
        for id, (pair, error) in (await score_all(mended, self.material, self.ctx, names)).items():
            rulings = [Ruling(_undecided(pair), error=error) if r.pair.id == id else r for r in rulings]
        return self._kept([*rulings, *(Ruling(p) for p in pairs if p.id not in cited)])

    async def read_again(self, pairs: Sequence[QAPair]) -> list[QAPair]:
        """Return the pairs with the judge's verdicts without each of their documents and, for a share of them, with a
        second reader's agreement."""
        if not self.judged:
            return [*pairs]
        pairs = self._kept(await linked.ask_without(pairs, self.material, self.ctx))
        return self._kept(await second_reader.read_share(pairs, self.material, self.ctx))


def _doubted(pair: QAPair, code: str, reason: str) -> QAPair:
    return pair.model_copy(update={"doubts": (*pair.doubts, Doubt(code=code, reason=reason))})


def _undecided(pair: QAPair) -> QAPair:
    """Return the pair with scores that decide nothing where they speak against it, except the judge's."""
    told = (s if s.name == JUDGE or s.passed else s.model_copy(update={"passed": None}) for s in pair.scores)
    return pair.model_copy(update={"scores": tuple(told)})


def _with_roles(pair: QAPair) -> QAPair:
    """Return the pair with the spans as context that the judge calls so; none that was context becomes an answer."""
    said = next((s.context for s in pair.scores if s.context is not None), ())
    spans = (s.model_copy(update={"role": "context"}) if at in said else s for at, s in enumerate(pair.evidence))
    judged = pair.model_copy(update={"evidence": tuple(spans)})
    return judged if judged.answer_evidence else pair


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
