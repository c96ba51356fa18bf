"""People label the links between datasets and papers, without seeing what the run said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Document, Link, Paper, Span
from scirgen.core.resources import Resources
from scirgen.release_files.judged import label_note
from scirgen_bench.labels.labelset import LabelSet
from scirgen_bench.labels.reviews import LabelFolders
from scirgen_label.agree import as_text, measure, write
from scirgen_label.draw import Request, draw
from scirgen_label.links import LinkSource
from scirgen_label.merge import merge
from scirgen_label.pages import write_pages
from tests.support.content_factory import FakeRun, dataset

SENTENCE = "We used the records of the snow gauges."
TEXT = f"Introduction. {SENTENCE} The gauges stood in the valley."


@pytest.fixture
def run() -> FakeRun:
    start = TEXT.index(SENTENCE)
    cited = Span(document_id="doc-p", start=start, end=start + len(SENTENCE), text=SENTENCE, page=2)
    links = [
        Link(
            dataset_id=f"ds-{n:03}",
            paper_id="p",
            found_by="doi",
            used=n % 2 == 0,
            strategy="mention",
            evidence=(cited,),
        )
        for n in range(8)
    ]
    document = Document(id="doc-p", paper_id="p", title="Snow of a valley", text=TEXT, blocks=())
    return FakeRun(
        [dataset(n) for n in range(8)], stored={"match": links, "collect": [Paper(id="p")], "parse": [document]}
    )


def sample(run: FakeRun, folder: Path) -> LabelSet:
    guideline = PromptLibrary(Resources()).get("label/link")
    return draw(LinkSource(run), "run", Request("link", 8, strata=("verdict",)), guideline, folder)


def test_a_link_is_shown_with_record_sentence_and_paper_but_no_verdict(run, tmp_path):
    labels = sample(run, tmp_path / "L")
    item = next(i for i in labels.items if i.record == "ds-002|p")
    assert item.shown.question == "Paper: Snow of a valley"
    assert item.shown.title == dataset(2).title and dataset(2).description in item.shown.text
    (piece,) = item.shown.evidence
    assert (piece.before, piece.text, piece.page) == ("Introduction. ", SENTENCE, 2)
    assert labels.contexts()[item.shown.context] == TEXT
    assert (item.hidden.verdict, item.hidden.code) == ("used", "mention")
    assert {s.name: s.population for s in labels.sample.strata} == {"used": 4, "not_used": 4}
    page = write_pages(labels, pictures=False)[0].read_text()
    assert "Does the paper use the dataset?" in page and "not_used" not in page


def test_two_peoples_labels_of_links_give_kappa(run, tmp_path):
    labels = sample(run, tmp_path / "L")
    files = []
    for annotator in ("A", "B"):
        rows = []
        for n, item in enumerate(labels.items):
            right = item.hidden.verdict == "used"
            said = "used" if right != (annotator == "B" and n == 0) else "mentioned"
            rows.append(
                {
                    "sample": labels.sample.id, "item": item.id, "task": "link", "annotator": annotator, "label": said,
                    "guideline": labels.sample.guideline,
                }
            )  # fmt: skip
        files.append(tmp_path / f"{annotator}.jsonl")
        files[-1].write_text("".join(json.dumps(r) + "\n" for r in rows))
    result = merge(labels, files)
    assert result.taken == {"A": 8, "B": 8} and len(result.disputed) == 1
    kappa = measure(LabelSet(labels.folder), resamples=10)["agreement"]["all"]["kappa"]
    assert kappa["value"] == pytest.approx((7 / 8 - 0.5) / 0.5)


def test_a_language_model_is_never_counted_as_a_person(run, tmp_path):
    guideline = PromptLibrary(Resources()).get("label/link")
    request = Request("link", 8, strata=("verdict",), language_models=("B",))
    labels = draw(LinkSource(run), "run", request, guideline, tmp_path / "L")
    rows = [
        {
            "sample": labels.sample.id,
            "item": i.id,
            "task": "link",
            "label": "used",
            "guideline": labels.sample.guideline,
        }
        for i in labels.items
    ]
    for annotator in ("A", "B"):
        lines = "".join(json.dumps(r | {"annotator": annotator}) + "\n" for r in rows)
        (tmp_path / f"{annotator}.jsonl").write_text(lines)
    merge(labels, [tmp_path / "A.jsonl", tmp_path / "B.jsonl"])
    again = LabelSet(labels.folder)
    assert {(s.annotators, s.people) for s in (again.settled(i.id) for i in again.items)} == {(2, 1)}
    write(again, measure(again, resamples=10))
    assert "A 8, B (a language model) 8" in as_text(measure(again, resamples=10))
    (note,) = LabelFolders().read([labels.folder]).notes
    assert (note.annotators, note.language_models) == (2, 1)
    assert "read by 1 person and a language model, guideline" in label_note(note)
    with pytest.raises(InputError, match="C is not an annotator"):
        draw(LinkSource(run), "run", Request("link", 8, language_models=("C",)), guideline, tmp_path / "M")


def test_a_run_without_links_is_refused():
    with pytest.raises(InputError, match="judged no link"):
        LinkSource(FakeRun([dataset(1)]))
