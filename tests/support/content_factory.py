"""A small release's content: datasets, some of which share papers, with questions; and a run's view of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Dataset,
    Link,
    Paper,
    Provenance,
    QAPair,
    Record,
    Rejection,
    Score,
    SectionLabel,
    Span,
)
from scirgen.stages.generate.quotas import within_target

PROVENANCE = Provenance(stage="generate", key="k", fingerprint="f", model="openai:m@1", prompt="generate/pairs@1#abc")


@dataclass
class FakeRun:
    """A `RunView` over lists."""

    all_datasets: list[Dataset] = field(default_factory=list)
    stored: dict[str, list[Record]] = field(default_factory=dict)
    all_pairs: list[QAPair] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)

    def datasets(self) -> Iterator[Dataset]:
        return iter(self.all_datasets)

    def subjects(self):
        return tuple(sorted(d.id for d in self.all_datasets))

    def stages(self):
        return ()

    def records(self, stage, kind, dataset_id=None):
        return (r for r in self.stored.get(stage, []) if isinstance(r, kind))

    def rejections(self, stage=None, dataset_id=None):
        return iter(self.rejected)

    def uses(self):
        links = [link for link in self.records("match", Link) if link.used]
        papers = {d.id: {link.paper_id for link in links if link.dataset_id == d.id} for d in self.all_datasets}
        return {dataset_id: tuple(sorted(ids)) for dataset_id, ids in sorted(papers.items()) if ids}

    def pairs(self):
        return iter(sorted(self.all_pairs, key=lambda p: (p.dataset_id, p.id)))

    def within_target(self, ctx, left):
        return within_target(self, ctx, left)[:2] if ctx.config.generate.quota.total else (left, ())

    def funnel(self):
        return {}

    def manifest(self):
        return {"usage": {"wall": id(self)}}

    def notes(self):
        return ()


def name(i: int, prefix: str = "V") -> str:
    """A proper name for a number: questions that differ in one are not near-duplicates."""
    return prefix + "".join(chr(97 + i // 26**k % 26) for k in range(3))


def dataset(i: int, **more) -> Dataset:
    values = {
        "id": f"ds-{i:03}",
        "title": f"Snow depth of valley {name(i)}",
        "description": f"Daily snow depth measured at {i} stations between 1980 and 2020.",
        "keywords": ("snow", "cryosphere"),
        "licence": "CC-BY-4.0" if i % 2 else "CC-BY-NC-4.0",
    }
    return Dataset(**(values | more))


def aspect(dataset_id: str, paper_id: str, start: int, text: str, category=AspectCategory.METHODS) -> Aspect:
    span = Span(document_id=f"doc-{paper_id}", start=start, end=start + len(text), text=text, page=2)
    return Aspect(paper_id=paper_id, category=category, span=span, dataset_id=dataset_id)


def pair(of: Dataset, number: int, question: str | None = None, evidence: tuple[Span, ...] | None = None) -> QAPair:
    question = question or f"How was {name(number, chr(83))} Snow in {of.title} measured?"
    start = of.text.index(of.description)
    own = Span(document_id=of.id, start=start, end=start + len(of.description), text=of.description)
    return QAPair(
        id=QAPair.make_id(of.id, "quantification", question, "By stations"),
        dataset_id=of.id,
        question=question,
        answer="By stations",
        question_type="quantification" if number % 2 else "definition",
        evidence=(own,) if evidence is None else evidence,
        strategy="paper",
        bloom=f"C{1 + number % 6}",
        scores=(Score(name="seper", value=0.25, threshold=0.0, passed=True, model="openai:m@1"),),
        provenance=PROVENANCE,
    )


def small_run(datasets: int = 12, pairs_each: int = 6) -> FakeRun:
    """Datasets 0 and 1 share a paper; 2 has its own; 3 has one that does not use it; 4 and 5 share a question."""
    run = FakeRun([dataset(i) for i in range(datasets)])
    ids = [d.id for d in run.all_datasets]
    run.stored["collect"] = [
        Paper(id="p-shared", title="A | shared <b>paper</b>", licence="CC-BY-4.0", year=2021),
        Paper(id="p-own", title="Own paper"),
        Paper(id="p-unused", title="Not used"),
    ]
    run.stored["match"] = [
        Link(dataset_id=ids[0], paper_id="p-shared", found_by="doi", used=True),
        Link(dataset_id=ids[1], paper_id="p-shared", found_by="doi", used=True),
        Link(dataset_id=ids[2], paper_id="p-own", found_by="doi", used=True),
        Link(dataset_id=ids[3], paper_id="p-unused", found_by="doi", used=False),
    ]
    run.stored["section"] = [
        SectionLabel(
            document_id="doc-p-shared",
            paper_id="p-shared",
            start=0,
            end=10,
            heading="Methods",
            label="method",
            decided_by="rule",
        )
    ]
    run.stored["verify"] = [
        aspect(ids[0], "p-shared", 100, "We measured snow depth with ultrasonic sensors."),
        aspect(ids[1], "p-shared", 100, "We measured snow depth with ultrasonic sensors."),
        aspect(ids[2], "p-own", 5, "Snow depth declined.", AspectCategory.FINDINGS),
    ]
    for d in run.all_datasets:
        run.all_pairs += [pair(d, n) for n in range(pairs_each)]
    cited = Span(document_id="doc-p-shared", start=103, end=121, text="measured snow dept", page=2)
    run.all_pairs.append(pair(run.all_datasets[0], 90, "Which sensors measured it?", (cited,)))
    if datasets > 5:
        run.all_pairs += [
            pair(run.all_datasets[4], 91, "What is snow depth?"),
            pair(run.all_datasets[5], 91, "what is  SNOW depth"),
        ]
    run.rejected = [
        Rejection(stage="filter", code="too_vague", reason="x", record_kind="QAPair", record_id="q"),
        Rejection(stage="filter", code="too_vague", reason="x", record_kind="QAPair", record_id="r"),
    ]
    return run
