"""A writer who sees what a subject is writes what others would ask; what only a reader could know is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.config import GenerateConfig
from scirgen.core.corpus import Reading
from scirgen.core.corpus.questions import Question
from scirgen.core.records import Block, Document, Link
from scirgen.stages.ask.stage import AskStage
from scirgen.stages.ask.subjects import Subject, material_of, other_languages, subjects_of
from scirgen.stages.base import WorkItem
from tests.support.questioning import ASPECTS, DATASET, FakeScope, make_context

MIX = {"generate.mix": {"seeking": 0.7, "known_item": 0.3}}
PAPER = Document(
    id="doc-1", paper_id="10.1/p", title="Rain in high mountains", text="", blocks=(),
    abstract="Rivers of Asia depend on mountain rain. We found that gauges lose a fifth of it.",
)  # fmt: skip

DATA = {"wants": "data", "subject": "ds-1", "part": 0}
ANSWER = {"wants": "answer", "subject": "doc-1", "part": 0}
USED = Link(dataset_id="ds-1", paper_id="10.1/p", found_by="doi", used=True)
READ = Reading(users={"doc-1": ("ds-1",)})


def asked(question: str, form: str = "keywords", type: str = "", need: str = "find_data") -> dict[str, object]:
    typed = {"type": type} if type else {}
    return {"need": need, "form": form, "question": question, "other_words": ["rainfall grids"], **typed}


def context(*questions: dict[str, object], **config: object):
    return make_context(lambda prompt, n: {"questions": list(questions)}, stage="ask", key="ds-1", **MIX, **config)


async def test_questions_come_with_need_form_and_rewordings() -> None:
    ctx, _ = context(asked("rain maps mountains"), asked("Are there rain maps?", "question"))
    made = (await AskStage().process(WorkItem("ds-1", (DATASET,), DATA), ctx)).outputs
    told = [(q.text, q.form, q.question_type, q.rewordings) for q in made if isinstance(q, Question)]
    assert told == [
        ("rain maps mountains", "keywords", "", ("rainfall grids",)),
        ("Are there rain maps?", "question", "", ("rainfall grids",)),
    ]


async def test_a_question_in_the_texts_own_words_is_refused_and_shown() -> None:
    ctx, _ = context(asked("precipitation over the third pole"), asked("rain maps"), asked("rain maps"))
    result = await AskStage().process(WorkItem("ds-1", (DATASET,), DATA), ctx)
    assert [q.text for q in result.outputs if isinstance(q, Question)] == ["rain maps"]
    assert [r.code for r in result.rejections] == ["borrowed", "repeated"]
    assert "third pole" in result.rejections[0].record


SUBJECT = {
    "field": "hydrology", "subject": "rain over mountains", "broader": "mountain water", "area": "Asia",
    "period": "", "material": "rain gauges",
}  # fmt: skip


async def about_the_paper(subject: dict[str, str]):
    """The result for a paper with these subjects, and what the writer of questions saw."""

    def rule(prompt, n):
        if prompt.id == "ask/subject":
            return subject
        return {"questions": [asked("Why does mountain rain matter?", "question", "causal_consequence", "plan")]}

    ctx, chat = make_context(rule, stage="ask", key="ds-1|10.1/p", **MIX)
    result = await AskStage().process(WorkItem("ds-1|10.1/p", (DATASET, PAPER), ANSWER), ctx)
    return result, [p.messages[-1][1] for p in chat.prompts if p.id == "ask/needs"]


async def test_who_asks_about_a_paper_sees_its_subject_and_nothing_of_its_text() -> None:
    result, [shown] = await about_the_paper(SUBJECT)
    [made] = result.outputs
    assert isinstance(made, Question) and (made.document_id, made.question_type) == ("doc-1", "causal_consequence")
    assert "Topic: rain over mountains" in shown and "Area: Asia" in shown and "Period" not in shown
    assert "Rivers" not in shown and "fifth" not in shown


async def test_a_subject_in_the_papers_own_words_is_replaced_by_a_wider_one_or_left_out() -> None:
    own = {**SUBJECT, "subject": "rain in high mountains", "area": "depend on mountain rain", "period": "since 1981"}
    _, [shown] = await about_the_paper(own)
    assert "Topic: mountain water" in shown and "Area" not in shown and "1981" not in shown
    finding = {**SUBJECT, "subject": "gauges that lose rain", "broader": "rain decreased by gauges"}
    _, [shown] = await about_the_paper(finding)
    assert "Topic: gauges that lose rain" in shown
    result, shown = await about_the_paper({**finding, "subject": "rain in high mountains"})
    assert not shown and [r.code for r in result.rejections] == ["no_subject"]


def test_nobody_asks_unless_the_mix_says_so_and_never_with_small_prompts() -> None:
    scope = FakeScope({"verify": ASPECTS, "parse": (PAPER,), "match": (USED,)})
    keys = [item.key for item in AskStage().items(scope, context()[0])]
    assert keys == ["ds-1", "ds-1|10.1/p"]
    assert not list(AskStage().items(scope, make_context(stage="ask")[0]))
    assert not list(AskStage().items(scope, make_context(stage="ask", pack="small", **MIX)[0]))


async def test_a_later_round_shows_what_was_asked_and_refuses_copies() -> None:
    ctx, chat = context(asked("maps of mountain rainfall"), asked("rain chemistry samples"))
    about = {"dataset_id": "ds-1", "document_id": "ds-1", "subject": "ds-1", "wants": "data"}
    earlier = Question(id="q0", text="rainfall maps of mountains", **about)
    scope = FakeScope({"verify": ASPECTS, "ask": (earlier,)}, 1, ({"again": "ds-1", "count": 2},))
    [item] = AskStage().items(scope, ctx)
    result = await AskStage().process(item, ctx)
    assert item.key == "ds-1#1" and "rainfall maps of mountains" in chat.prompts[0].messages[-1][1]
    assert [(q.text, q.round) for q in result.outputs if isinstance(q, Question)] == [("rain chemistry samples", 1)]
    assert [r.code for r in result.rejections] == ["repeated"]


async def test_the_users_questions_show_the_manner(tmp_path: Path) -> None:
    (tmp_path / "like.txt").write_text("got any soil maps??\n", "utf-8")
    ctx, chat = context(asked("rain maps mountains"), **{"generate.like": str(tmp_path / "like.txt")})
    [item] = AskStage().items(FakeScope({}), ctx)
    await AskStage().process(item, ctx)
    assert "got any soil maps??" in chat.prompts[0].messages[-1][1]


async def test_the_users_question_keeps_its_words_and_is_searched_in_others_too() -> None:
    words = {"other_words": ["gauge  losses"], "translations": ["lluvia de montaña"]}
    ctx, chat = make_context(lambda prompt, n: words, stage="ask", key="user|q1", **MIX)
    own = Question(id="q1", dataset_id="ds-1", document_id="", wants="answer", text="does rain get lost?", asked="user")
    result = await AskStage().process(WorkItem("user|q1", (own,), {"languages": ("es",)}), ctx)
    [made] = result.outputs
    searched = {"rewordings": ("gauge losses",), "translations": (("es", "lluvia de montaña"),)}
    assert made == own.model_copy(update=searched)
    assert [p.id for p in chat.prompts] == ["ask/reword"]


@pytest.mark.parametrize(
    "mix", [{"seeking": -1}, {"seeking": 0}, {"seeking": 2, "known_item": -1}, {"seeking": 2}, {"known_item": 0.3}]
)
def test_a_mix_whose_shares_do_not_sum_to_1_is_refused(mix: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="shares from 0 to 1 that sum to 1"):
        GenerateConfig(mix=mix)
    assert GenerateConfig(mix={"known_item": 0}, questions="mine.txt").asks


async def test_the_users_question_is_searched_as_it_is_if_no_other_words_come() -> None:
    ctx, _ = make_context(lambda prompt, n: {"other_words": []}, stage="ask", key="user|q1", **MIX)
    own = Question(id="q1", dataset_id="ds-1", document_id="", wants="answer", text="does rain get lost?", asked="user")
    assert (await AskStage().process(WorkItem("user|q1", (own,)), ctx)).outputs == (own,)


def long_paper(words: int) -> Document:
    """Parts under headings that name subjects, of ten words a block."""
    heads = ("Snow under forest canopies", "Results", "Melt of dusty glacier ice", "Runoff of arid valley rivers")
    text, blocks = "", []
    for n in range(words // 10):
        head = heads[n * len(heads) * 10 // words]
        if not blocks or blocks[-1].heading_path != (head,):
            blocks.append(Block(kind="heading", start=len(text), end=len(text) + len(head), heading_path=(head,)))
            text += head + "\n"
        said = "Ice melts slowly under thick layers of old dry snow. "
        path = (head,)
        blocks.append(Block(kind="paragraph", start=len(text), end=len(text) + len(said), heading_path=path))
        text += said
    return Document(id="doc-1", paper_id="10.1/p", title="Water", text=text, blocks=tuple(blocks))


def test_a_long_paper_has_several_subjects_with_headings_of_their_own() -> None:
    def found(document: Document) -> list[Subject]:
        return list(subjects_of(FakeScope({"parse": (document,), "match": (USED,)}), READ))

    assert [s.id for s in found(long_paper(3000))] == ["ds-1", "doc-1"]
    several = found(long_paper(9000))
    assert [s.id for s in several] == ["ds-1", "doc-1", "doc-1/2", "doc-1/3"]
    told = [material_of(long_paper(9000), s.part) for s in several[1:]]
    assert [part.part for part in several[1:]] == [0, 1, 2]
    assert told[1][1] == ["Melt of dusty glacier ice"] and told[2][1] == ["Runoff of arid valley rivers"]


def test_a_record_made_from_a_paper_is_no_subject_beside_the_paper() -> None:
    own = USED.model_copy(update={"found_by": "own"})
    scope = FakeScope({"collect": (own,), "match": (own,), "parse": (PAPER,)})
    assert [s.id for s in subjects_of(scope, READ)] == ["doc-1"]


@pytest.mark.parametrize(
    ("reading", "with_paper"),
    [
        (Reading(users={"doc-1": ("ds-1", "ds-2")}), True),
        (Reading(users={"doc-1": ("ds-0", "ds-1")}), False),
        (Reading(users={"doc-1": ()}, hosts={"doc-1": "ds-1"}), True),
        (Reading(users={"doc-1": ()}, hosts={"doc-1": "ds-0"}), False),
        (Reading(), False),
    ],
)
def test_a_paper_is_asked_about_with_its_first_user_or_the_first_it_was_read_for(
    reading: Reading, with_paper: bool
) -> None:
    found = [s.id for s in subjects_of(FakeScope({"parse": (PAPER,)}), reading)]
    assert found == ["ds-1", "doc-1"][: 1 + with_paper]


async def test_questions_are_searched_in_each_language_with_enough_passages() -> None:
    passages = {"en": 27, "pt": 2, "fr": 1}
    assert other_languages(passages, "en") == ("pt",) and other_languages(passages, "pt") == ("en",)
    one = {**asked("rain maps mountains"), "translations": ["mapas de chuva"]}
    ctx, chat = context(one)
    task = WorkItem("ds-1", (DATASET,), {**DATA, "languages": ("pt",)})
    [made] = (await AskStage().process(task, ctx)).outputs
    assert isinstance(made, Question) and made.translations == (("pt", "mapas de chuva"),)
    assert "Portuguese" in chat.prompts[0].messages[0][1]
