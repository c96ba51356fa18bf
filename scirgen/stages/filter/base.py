"""The interfaces of gates and faithfulness scorers; both are plugins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, get_args

from scirgen.core.config import Config
from scirgen.core.records import Aspect, Dataset, Document, QAPair, Score
from scirgen.core.taxonomy import LanguageWording
from scirgen.stages.base import StageContext

Need = Literal["generator", "scorer", "judge", "entailment"]
"""A model: that of ``models.generator``; one that gives log-probabilities; ``models.judge``, else the generator;
``filter.entailment``."""
MODELS: Final[frozenset[Need]] = frozenset(get_args(Need))
MATERIAL: Final = frozenset({"answer", "type", "dataset", "context", "sources", "evidence", "scores"})
"""Names of the material that a gate may need, besides models."""


_TITLE: Final = 200


@dataclass(frozen=True)
class Material:
    """The material against which the pairs of one dataset are judged.

    Attributes:
        dataset: None if a foreign file does not have it (``scirgen audit``).
        context: metadata and kept aspects as one text, the same that generation saw.
        sources: document id (or dataset id) -> its text.
        accepted: pairs of this dataset that earlier rounds accepted.
        documents: document id -> the parsed paper, which knows pages and boxes.
        titles: titles of the sources of which only the passages are known that a search found.
    """

    dataset: Dataset | None
    aspects: tuple[Aspect, ...] = ()
    context: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    accepted: tuple[QAPair, ...] = ()
    documents: dict[str, Document] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)

    def title(self, document_id: str) -> str:
        """Return the title of a source, shortened; "a source" if none is known."""
        document = self.documents.get(document_id)
        title = document.title if document else self.titles.get(document_id, "")
        if not title and self.dataset and document_id == self.dataset.id:
            title = self.dataset.title
        return " ".join(title.split())[:_TITLE] or "a source"


@dataclass(frozen=True)
class Verdict:
    """Accept or reject, with the reason and the measured score. If ``error`` is set, there is no verdict, and the pair
    is tried again later."""

    accept: bool
    reason: str = ""
    score: float | None = None
    error: Exception | None = None


ACCEPT = Verdict(True)


class Gate(ABC):
    """A gate: one reason code, one explanation, one threshold (or none) from ``config.filter.gate_options[code]``.

    Gates see the pairs that survived the gates before them, of one dataset, together and in the order of ids. They are
    stateless. ``version`` is raised by hand whenever the same pair would get another verdict.

    Attributes:
        order: gates run by rising order: cheap gates first, gates that call a model later.
        default_threshold: None if the gate has none.
        action: "reject", or "doubt": where a judge reads the pairs, it looks again at what the gate finds, and decides;
            without a judge the gate rejects.
        beside_judge: whether it runs by default where a judge reads every pair. A rule that catches nothing that the
            judge does not catch (docs/benchmarks/faithfulness.md) does not.
        on_by_default: whether it runs when ``config.filter.gates`` is empty. A gate of whose rejections readers found
            fewer than .8 deserved does not (docs/gates.md).
        after_scores: whether it runs after the scores: it compares pairs with each other, so that no pair is left out
            for another one that is rejected itself, or it reads a score.
        needs: what a verdict needs: "answer", "type", "dataset", "context", "sources", "evidence", "scores", and the
            models it asks (`Need`). `scirgen audit` leaves the gate out where a foreign file does not have it, or where
            it asks a model.
        prompts: names of the prompts it renders; hashed into the fingerprint of what it judged.
    """

    code: ClassVar[str]
    explanation: ClassVar[str]
    order: ClassVar[int] = 50
    default_threshold: ClassVar[float | None] = None
    action: ClassVar[Literal["reject", "doubt"]] = "reject"
    beside_judge: ClassVar[bool] = True
    on_by_default: ClassVar[bool] = True
    after_scores: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    prompts: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 1
    known_items: ClassVar[bool] = False
    """Judges only pairs that were written from a known answer."""

    @abstractmethod
    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        """Return one verdict per pair, in order."""

    @classmethod
    def models(cls) -> frozenset[Need]:
        """Return the models that it asks."""
        return MODELS & frozenset(cls.needs)

    def threshold(self, config: Config) -> float:
        """Return the configured threshold, else the gate's own."""
        options = config.filter.gate_options.get(self.code)
        configured = options.threshold if options else None
        return configured if configured is not None else (self.default_threshold or 0.0)

    def identity(self, ctx: StageContext) -> str:
        """Return the hash of whatever else decides its verdicts (a classifier's files); part of the fingerprint. "" if
        nothing does."""
        return ""

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        """Return whether it can judge pairs of a language. A gate that looks for words overrides this."""
        return True


class PairGate(Gate):
    """A gate that looks at one pair at a time."""

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        return [self.judge(pair, material, ctx) for pair in pairs]

    @abstractmethod
    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        """Judge one pair."""


class Faithfulness(ABC):
    """A measure of how much the context supports an answer (shift, calibrated, semantic SePer, NLI, a judge).

    Pairs carry the scores of the scorers before it.

    Attributes:
        needs: the models it asks. A model that no gate and no scorer in force needs is not opened.
        prompts: names of the prompts it renders; part of the fingerprint.
        version: raised by hand whenever the same pair would get another score; part of the fingerprint.
        default_threshold: the value at or below which it rejects, and above which it keeps; `edges` may override it.
        only_unsure: it costs so much that it is asked only about pairs that the scorers before it left undecided.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    prompts: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 1
    default_threshold: ClassVar[float] = 0.0
    only_unsure: ClassVar[bool] = False

    @abstractmethod
    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        """Score each pair, in order, higher is more faithful; an exception if none could be measured, never a default.

        The stage sets ``passed`` and ``unsure``, and the edges unless the scorer knows its own for this pair.
        """

    def check(self, ctx: StageContext) -> None:  # noqa: B027 - most scorers suit any model
        """Refuse models that do not suit it, before anything is judged.

        Raises:
            ConfigError: a model does not suit it.
        """

    def identity(self, ctx: StageContext) -> str:
        """Return what its scores depend on besides version, prompts and models, such as a file's hash;
        fingerprinted."""
        return ""

    def edges(self, config: Config) -> tuple[float, float]:
        """Return the edges of its values: at or below the first a pair is rejected, above the second it is kept."""
        return self.default_threshold, self.default_threshold

    def why(self, score: Score) -> str:
        """Describe why a failing score rejects its pair."""
        return score.detail
