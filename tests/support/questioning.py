"""A dataset with kept aspects and a context with a scripted generator, for the tests of generate and tag."""

from __future__ import annotations

from pathlib import Path

from scirgen.core.config import load_config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Aspect, AspectCategory, Dataset, Document, QAPair, Record, SectionClass, Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext
from tests.support.scripted_chat import Rule, ScriptedChat

DATASET = Dataset(
    id="ds-1",
    title="Daily precipitation over the Third Pole",
    description=(
        "The product merges 2,400 rain gauges with a regional model at a resolution of 3 km. "
        "It covers the years from 1979 to 2020 because earlier records are sparse. "
        "Snowfall is increased in winter, whereas satellite products underestimate it."
    ),
)
STATEMENTS = (
    (AspectCategory.METHODS, "Gauge records were corrected for wind loss by using the method of the Goodison group."),
    (AspectCategory.FINDINGS, "The ERA5 reanalysis is 26 mm wetter than the TPHiPr product in the Karakoram."),
    (AspectCategory.CHALLENGES, "However, gauges are sparse above 5,000 m because access is difficult in winter."),
    (AspectCategory.OBJECTIVE, "The purpose of the merging is to provide precipitation for models of river discharge."),
)
_TEXT = "\n".join(s for _, s in STATEMENTS)
DOCUMENT = Document(id="doc-1", paper_id="10.1/p", text=_TEXT, blocks=())
ASPECTS = tuple(
    Aspect(
        paper_id="10.1/p",
        category=category,
        dataset_id="ds-1",
        span=Span(
            document_id="doc-1",
            start=_TEXT.index(text),
            end=_TEXT.index(text) + len(text),
            text=text,
            section=SectionClass.METHOD,
        ),
    )
    for category, text in STATEMENTS
)
SOURCES = {"doc-1": _TEXT, "ds-1": DATASET.text}


def make_context(
    rule: Rule = lambda prompt, n: "",
    *,
    pack: str = "standard",
    key: str = "",
    stage: str = "generate",
    **config: object,
) -> tuple[StageContext, ScriptedChat]:
    """A context over the built-in resources, and the scripted session in it."""
    resources = Resources()
    chat = ScriptedChat(rule, pack)
    context = StageContext(
        config=load_config(flags={"generate.mix": {"known_item": 1.0}, **config}).config,
        resources=resources,
        prompts=PromptLibrary(resources),
        taxonomies=Taxonomies(resources),
        registry=load_registry(),
        folder=Path("unused"),
        chat_session=chat,
    )
    return context.at(stage, key, "fp"), chat


class FakeScope:
    """A scope over given records."""

    def __init__(
        self,
        records: dict[str, tuple[Record, ...]],
        round: int = 0,
        wanted: tuple[dict[str, object], ...] = (),
        shared: dict[str, tuple[Dataset, ...]] | None = None,
    ) -> None:
        self.shared = shared or {}
        self.dataset = DATASET
        self.round = round
        self.wanted = wanted
        self._records = records

    def users(self, paper_id: str) -> tuple[Dataset, ...]:
        return self.shared.get(paper_id) or (self.dataset,)

    def outputs(self, stage: str, kind: type) -> tuple:
        return tuple(r for r in self._records.get(stage, ()) if isinstance(r, kind))


def pair(question: str, kind: str = "definition", answer: str = "An answer.", **more: object) -> QAPair:
    return QAPair(
        id=QAPair.make_id("ds-1", kind, question, answer),
        dataset_id="ds-1",
        question=question,
        answer=answer,
        question_type=kind,
        **more,
    )
