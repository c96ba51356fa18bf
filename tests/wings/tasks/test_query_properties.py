"""Properties of needs that are divided into aspects and edited by people, for any text of a model or a person."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen_bench.tasks.records import Query
from scirgen_bench.tasks.reviews import Need, reviewed_needs
from scirgen_bench.tasks.task_files import requirements
from scirgen_tasks.recipes.decompose import (
    AspectDraft,
    DecomposeReply,
    aspect_queries,
    fault_of,
    sentences_of,
    sub_queries,
)
from scirgen_tasks.recipes.recommend import keyphrases

STOP = frozenset({"the", "of", "a"})
WORDS = ("snow", "ice", "river", "depth", "wind", "leaf", "soil", "flow", "the", "of")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
drafts = st.builds(
    AspectDraft,
    text=texts,
    sentences=st.lists(st.integers(min_value=-1, max_value=6), max_size=4),
    sub_aspects=st.lists(texts | st.just(""), max_size=8),
)


@st.composite
def whole(draw: st.DrawFn) -> DecomposeReply:
    """A division that keeps the rules: different aspects, and every sentence in one or two of them."""
    names = draw(st.permutations(WORDS[:8]))[: draw(st.integers(3, 8))]
    given = draw(st.lists(st.integers(0, len(names) - 1), min_size=5, max_size=5))
    more = draw(st.lists(st.integers(1, 5), min_size=len(names), max_size=len(names)))
    aspects = []
    for place, name in enumerate(names):
        own = [n + 1 for n, at in enumerate(given) if at == place] or [more[place]]
        subs = draw(st.lists(texts, max_size=3))
        aspects.append(AspectDraft(text=name, sentences=own, sub_aspects=subs))
    return DecomposeReply(aspects=aspects)


divisions = whole() | st.builds(DecomposeReply, aspects=st.lists(drafts, max_size=11))
NEED = Query(
    id="n",
    recipe="aspects",
    form="complex",
    text="I need snow. I want ice. I look for rivers. I ask for wind. I like soil.",
)
SENTENCES = sentences_of(NEED.text, "en")


def made(reply: DecomposeReply) -> list[Query]:
    need, parts, _ = aspect_queries(NEED, reply, SENTENCES, STOP)
    aspects = [p for p in parts if p.form == "aspect"]
    return [need, *parts, *sub_queries(need, aspects)]


@settings(max_examples=100)
@given(divisions)
def test_a_division_without_fault_keeps_the_published_rules(reply: DecomposeReply) -> None:
    if fault_of(reply, len(SENTENCES), STOP) is not None:
        return
    found = made(reply)
    aspects = [q for q in found if q.form == "aspect"]
    assert 3 <= len(aspects) <= 9
    assert {s.text for a in aspects for s in a.spans} == {NEED.text[s:e] for s, e in SENTENCES}
    for query in found:
        assert all(NEED.text[s.start : s.end] == s.text for s in query.spans)
        if query.form == "sub_aspect":
            assert query.parent in {a.id for a in aspects}
        if query.form == "sub_query":  # its sentences, in order, and none that a further aspect needs
            assert query.text == " ".join(s.text for s in query.spans)
            others = [a for a in aspects if a.id not in query.parts]
            assert not {s.text for s in query.spans} & {s.text for a in others for s in a.spans}
    assert len({q.id for q in found}) == len(found)
    assert len(set(requirements(found)["n"])) == len(requirements(found)["n"])


@settings(max_examples=100)
@given(
    divisions,
    st.lists(texts, min_size=1, max_size=6, unique=True),
    st.sampled_from([NEED.text, "I want ice. New words."]),
)
def test_an_edited_need_is_whole_and_unedited_ones_are_unchanged(
    reply: DecomposeReply, edited: list[str], text: str
) -> None:
    if fault_of(reply, len(SENTENCES), STOP) is not None:
        return
    found = made(reply)
    kept = reviewed_needs(found, {"n": Need(text, tuple(edited))}, drafts=False)
    by_id = {q.id: q for q in kept}
    assert [by_id[p].text for p in by_id["n"].parts] == edited
    assert by_id["n"].text == text
    for query in kept:
        assert query.form in ("complex", "sub_query") or query.parent in by_id
        assert all(text[s.start : s.end] == s.text for s in query.spans)
        assert set(query.parts) <= set(by_id)
    aspects = tuple(q.text for q in found if q.form == "aspect")
    if len(set(aspects)) == len(aspects):
        assert reviewed_needs(found, {"n": Need(NEED.text, aspects)}, drafts=False) == found


@given(st.lists(texts, max_size=6))
def test_keyphrases_hold_no_stop_word_and_nothing_twice(fields: list[str]) -> None:
    phrases = keyphrases(fields, STOP).split()
    assert not set(phrases) & STOP
    assert len(set(phrases)) == len(phrases)
    assert set(phrases) <= {w for f in fields for w in f.split()}
