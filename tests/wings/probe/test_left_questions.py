"""Questions of people that nothing read answers are the probe's, with the passages that were read for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from scirgen import Dataset, Paper, QAPair, Rejection, RunView, Span
from scirgen.core.corpus import Passage
from scirgen.core.corpus.questions import Pool, Pooled, Question, Unanswered
from scirgen.core.records import Document
from scirgen_probe.proving import Fact, ProbeStage, nuggets_of
from scirgen_probe.records import Nugget, Unanswerable
from scirgen_probe.released import ProbePart
from tests.support.questioning import FakeScope, make_context, pair

PASSAGE = Passage(id="psg-1", document_id="doc-1", start=0, end=9, text="Ice\nmelts.")


def left(id: str, *, near: bool = False, **more: object) -> Unanswered:
    told = {"dataset_id": "ds-1", "document_id": "doc-1", "wants": "answer", "question_type": "verification", **more}
    question = Question.model_validate({"id": id, "text": f"Is {id} known?", **told})
    nearest = (PASSAGE,) if near else ()
    return Unanswered(id=id, dataset_id="ds-1", question=question, lacking="the place", nearest=nearest)


def items(*unanswered: Unanswered, share: float = 0.5) -> list[tuple[Unanswerable, ...]]:
    ctx, _ = make_context(stage="probe", **{"probe.unanswerable": share})
    pools = tuple(Pool(id=u.id, dataset_id="ds-1", entries=(Pooled(passage=PASSAGE),)) for u in unanswered)
    accepted = (pair("Is it wet?"), pair("Is it dry?"), pair("Is it cold?"))
    scope = FakeScope({"filter": accepted, "answer": unanswered, "search": pools})
    found = list(ProbeStage().items(scope, ctx))
    for item in found:
        assert all(texts == ["Ice melts."] for texts in item.parameters["nearest"].values())  # type: ignore[attr-defined]
    return [item.of(Unanswerable) for item in found]


def test_the_probe_takes_its_share_those_that_nearly_have_an_answer_first() -> None:
    [taken] = items(left("a"), left("b", near=True), left("c"))
    assert [(q.id, q.lacks, q.differs) for q in taken] == [
        ("b", "near_miss", "the place"),
        ("a", "missing", "the place"),
    ]
    assert items(left("a"), share=0.0) == []


def test_needs_for_data_and_a_users_questions_are_left_alone() -> None:
    assert items(left("a", question_type="", wants="data"), left("b", asked="user"), left("c", round=1)) == []


def test_answers_of_people_who_asked_first_are_taken_apart_too() -> None:
    ctx, _ = make_context(stage="probe", **{"probe.nuggets": True})
    line = Span(document_id="doc-1", start=0, end=9, text="Ice melts")
    place = line.model_copy(update={"role": "context"})
    asked = pair("Does it melt?").model_copy(update={"asked": "seeking", "evidence": (place, line)})
    [item] = ProbeStage().items(FakeScope({"filter": (asked,)}), ctx)
    assert item.of(QAPair) == (asked,)
    facts = [Fact(pair=1, line=n, fact=f" Fact {n}. ", vital=n == 2) for n in (2, 3)]
    nugget, none = nuggets_of((asked,), [*facts, facts[0]], ctx)
    assert isinstance(none, Rejection) and none.code == "no_such_line", (
        "a repeated fact is left out, another line named"
    )
    assert isinstance(nugget, Nugget)
    assert (nugget.pair_id, nugget.fact, nugget.span, nugget.vital) == (asked.id, "Fact 2.", line, True)


def test_rows_of_left_questions_name_the_passages_that_were_read_and_who_asked() -> None:
    told: Any = {"dataset_id": "ds-1", "question_type": "verification", "lacks": "missing"}
    kept = (
        Unanswerable(id="left", question="Does ice melt?", **told),
        Unanswerable(id="written", question="Is rain wet?", **told),
    )
    pool = Pool(id="left", dataset_id="ds-1", entries=(Pooled(passage=PASSAGE),))
    shut = PASSAGE.model_copy(update={"id": "psg-2", "document_id": "doc-2"})
    pool = pool.model_copy(update={"entries": (Pooled(passage=shut), Pooled(passage=PASSAGE))})
    papers = (Paper(id="p-1", licence="CC-BY-4.0"), Paper(id="p-2"))
    read = tuple(Document(id=f"doc-{n}", paper_id=f"p-{n}", text=PASSAGE.text, blocks=()) for n in (1, 2))
    found = {"probe": kept, "search": (pool,), "verify": (), "collect": papers, "parse": read}
    run = SimpleNamespace(
        datasets=lambda: (Dataset(id="ds-1", title="Rain", description="Rain is wet."),),
        records=lambda stage, kind: iter(found[stage]),
    )
    content = ProbePart().material(cast(RunView, run), make_context(stage="probe")[0])
    rows = {row.id: (row.asked, row.evidence[0].document_id) for row in content.pairs()}
    assert rows == {"left": ("seeking", "doc-1"), "written": ("known_item", "ds-1")}, (
        "of a paper that is not open: none"
    )
