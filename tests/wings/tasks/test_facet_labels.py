"""People label the sentences of abstracts, and a release takes their facets instead of the run's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_bench.labels.labelset import LabelSet
from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.taxonomies import facets_of
from scirgen_label.draw import Request, draw
from scirgen_label.links import FacetSource
from scirgen_label.merge import merge
from scirgen_tasks.recipes.facets import corrected, facet_queries, places
from scirgen_tasks.run_tasks import settled_facets
from tests.support.content_factory import FakeRun, dataset
from tests.wings.tasks.test_query_stage import DOCUMENT, FOUND, GOAL, HOW

FACETS = facets_of(Taxonomies(Resources()))


def made() -> list[Query]:
    """The run's queries: the goal is called a method, and nothing a background."""
    spans = places(DOCUMENT, [GOAL, HOW, FOUND])
    labels = [("method",), ("method",), ("result",)]
    return facet_queries(DOCUMENT.paper_id, 2021, list(zip(spans, labels, strict=True)), FACETS)


def labelled(folder: Path, said: dict[str, str]) -> LabelSet:
    run = FakeRun([dataset(0)], stored={"query": made(), "parse": [DOCUMENT]})
    guideline = PromptLibrary(Resources()).get("label/facet")
    request = Request("facet", 3, strata=("verdict",), annotators=("A",))
    labels = draw(FacetSource(run), "run", request, guideline, folder / "L")
    rows = [
        {"sample": labels.sample.id, "item": i.id, "task": "facet", "annotator": "A", "label": said[i.shown.question],
         "guideline": labels.sample.guideline}
        for i in labels.items
    ]  # fmt: skip
    (folder / "A.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    merge(labels, [folder / "A.jsonl"])
    return LabelSet(labels.folder)


def test_labels_of_sentences_make_the_facet_queries_again(tmp_path: Path) -> None:
    labels = labelled(tmp_path, {GOAL: "background", HOW: "method", FOUND: "unsure"})
    assert {i.shown.question: i.hidden.verdict for i in labels.items} == {
        GOAL: "method", HOW: "method", FOUND: "result",
    }  # fmt: skip
    said = settled_facets([labels.folder])
    assert said == {DOCUMENT.paper_id: {GOAL: "background", HOW: "method"}}  # nobody is sure of the third
    other = Query(id="q", recipe="recommend", form="sentence", text="I need data.", paper_id=DOCUMENT.paper_id)
    again = corrected([other, *made()], {DOCUMENT.paper_id: DOCUMENT}, said, FACETS)
    assert {q.facet: q.text for q in again} == {
        None: "I need data.",
        "background": GOAL,
        "method": HOW,
        "result": FOUND,
    }
    assert corrected(made(), {DOCUMENT.paper_id: DOCUMENT}, {}, FACETS) == made()


def test_a_run_without_facet_queries_has_nothing_to_label() -> None:
    with pytest.raises(InputError, match="no facet queries"):
        FacetSource(FakeRun([dataset(0)], stored={"query": [], "parse": [DOCUMENT]}))
