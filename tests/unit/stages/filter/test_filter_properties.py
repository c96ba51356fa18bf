"""A gate never accepts what its code describes, whatever surrounds it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scirgen.core.records import Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.gates.duplicate import DuplicateGate
from scirgen.stages.filter.gates.evidence import NotSupportedGate, NotVerbatimGate
from scirgen.stages.filter.gates.form import TypeAnswerGate
from scirgen.stages.filter.gates.reference import ExampleLeakGate, PointingGate, shown_examples
from scirgen_embedded.gates import TypeQuestionGate, UnknownNameGate, VagueGate
from tests.support.filtering import DATASET, MATERIAL, make_context, pair, span, verdict

TEXT = st.text(st.sampled_from("abcdefghij klm nop?,.éü的雨"), max_size=60)
WORDS = st.lists(
    st.sampled_from(["snow", "gauges", "ice", "flux", "soil", "merge", "data", "wind", "rivers", "lakes"]),
    min_size=1,
    max_size=12,
)
relaxed = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def context(taxonomy_root: object, tmp_path_factory: pytest.TempPathFactory) -> StageContext:
    make: Callable[..., StageContext] = make_context(taxonomy_root, tmp_path_factory.mktemp("run"))
    return make()


@relaxed
@given(start=st.integers(0, 400), length=st.integers(0, 80), text=TEXT)
async def test_not_verbatim_accepts_only_what_stands_there(
    context: StageContext, start: int, length: int, text: str
) -> None:
    one = Span(document_id=DATASET.id, start=start, end=start + length, text=text)
    found = await verdict(NotVerbatimGate, pair(evidence=(one,)), context)
    assert found.accept == (bool(text.strip()) and DATASET.text[start : start + length] == text)


@relaxed
@given(start=st.integers(0, 60), length=st.integers(1, 80))
async def test_not_verbatim_accepts_every_true_span(context: StageContext, start: int, length: int) -> None:
    text = DATASET.text[start : start + length]
    one = Span(document_id=DATASET.id, start=start, end=start + length, text=text)
    assert (await verdict(NotVerbatimGate, pair(evidence=(one,)), context)).accept == bool(text.strip())


@relaxed
@given(
    before=WORDS,
    after=WORDS,
    pointer=st.sampled_from(["this dataset", "this study", "these datasets", "the present paper"]),
)
async def test_pointing_never_accepts_a_pointer_wherever_it_stands(
    context: StageContext, before: list[str], after: list[str], pointer: str
) -> None:
    question = f"Why do {' '.join(before)} matter in {pointer} with {' '.join(after)}?"
    assert not (await verdict(PointingGate, pair(question=question), context)).accept


@relaxed
@given(
    words=st.lists(
        st.sampled_from(["data", "method", "quality", "process", "the", "used", "study", "feature"]), max_size=15
    )
)
async def test_vague_never_accepts_a_question_of_generic_words_alone(context: StageContext, words: list[str]) -> None:
    assert not (await verdict(VagueGate, pair(question=f"What is the {' '.join(words)}?"), context)).accept


@relaxed
@given(before=WORDS, after=WORDS, name=st.sampled_from(["Xanadu", "QZJ-7", "Ørsted", "WXZ"]))
async def test_unknown_name_never_accepts_a_name_that_is_nowhere(
    context: StageContext, before: list[str], after: list[str], name: str
) -> None:
    question = f"Why do {' '.join(before)} {name} {' '.join(after)}?"
    assert not (await verdict(UnknownNameGate, pair(question=question), context)).accept


@relaxed
@given(answer=st.text(max_size=30))
async def test_type_answer_never_accepts_an_undecided_verification(context: StageContext, answer: str) -> None:
    found = await verdict(TypeAnswerGate, pair("Are gauges merged?", answer, "verification"), context)
    said = unicodedata.normalize("NFKC", answer).strip().lower()
    assert not found.accept or said.startswith(("yes", "no"))


@relaxed
@given(answer=st.text(st.sampled_from("bcd gjk lmp,."), max_size=40))
async def test_type_answer_never_accepts_a_quantity_without_a_number(context: StageContext, answer: str) -> None:
    found = await verdict(TypeAnswerGate, pair("How many gauges are there?", answer, "quantification"), context)
    assert not found.accept


@relaxed
@given(question=TEXT)
async def test_type_question_never_accepts_a_question_without_its_mark(context: StageContext, question: str) -> None:
    found = await verdict(TypeQuestionGate, pair(question="why " + question.replace("?", "")), context)
    assert not found.accept


@relaxed
@example(number=400)  # of "2,400 gauges"
@given(number=st.integers(21, 10**7).filter(lambda n: n not in (1979, 2020, 2400)))
async def test_not_supported_never_accepts_a_number_that_is_not_in_the_evidence(
    context: StageContext, number: int
) -> None:
    one = pair("How many gauges are merged?", f"{number:,} gauges", "quantification")
    assert not (await verdict(NotSupportedGate, one, context)).accept


@relaxed
@given(data=st.data())
async def test_example_leak_never_accepts_a_slightly_changed_example(
    context: StageContext, data: st.DataObject
) -> None:
    questions, _ = shown_examples(context.taxonomies, context.prompts)
    copied = data.draw(st.sampled_from(questions))
    cut = data.draw(st.integers(0, len(copied) - 1))
    changed = copied[:cut] + data.draw(st.sampled_from("xyz")) + copied[cut + 1 :]
    assert not (await verdict(ExampleLeakGate, pair(question=changed), context)).accept


@relaxed
@given(st.lists(WORDS.map(lambda w: "Why do " + " ".join(w) + "?"), min_size=1, max_size=12))
async def test_duplicate_never_accepts_the_same_question_twice(context: StageContext, texts: list[str]) -> None:
    pairs = [pair(question=t, answer=f"Because of {n}.", evidence=(span("Daily"),)) for n, t in enumerate(texts)]
    found = await DuplicateGate().check(pairs, MATERIAL, context)
    kept = [p.question for p, v in zip(pairs, found, strict=True) if v.accept]
    assert len(set(kept)) == len(kept)
    assert {v.accept for v in found[:1]} == {True}
