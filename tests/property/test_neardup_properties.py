"""Near-duplicate search and its resolution, for any questions in any order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.resources import Resources
from scirgen.core.taxonomy import LanguageWording, Taxonomies
from scirgen.repeats.neardup import Asked, answers_agree, contradict, near_duplicates, resolve, wordprint

WORDING = LanguageWording(affirmative=("yes",), negative=("no",), stop_words=("the", "of", "in", "what", "is", "how"))
TOPICS = (
    "glacier",
    "permafrost",
    "runoff",
    "albedo",
    "aerosol",
    "snow",
    "Heihe",
    "Tibet",
    "flux",
    "soil",
    "1990",
    "2015",
)
ANSWERS = (
    "Yes",
    "No",
    "11 stations",
    "11",
    "12 stations",
    "eddy covariance tower",
    "an eddy covariance tower",
    "snow depth",
)

questions = st.lists(st.sampled_from(TOPICS), min_size=2, max_size=7, unique=True).map(
    lambda ws: "What is the " + " of ".join(ws) + "?"
)
asked_lists = st.lists(
    st.tuples(questions, st.sampled_from("abcd"), st.sampled_from(ANSWERS), st.sampled_from(("x", "y"))), max_size=30
).map(lambda rows: [Asked(f"q{n:03d}", d, q, a, t) for n, (q, d, a, t) in enumerate(rows)])


def test_questions_with_a_gold_dataset_in_common_never_conflict() -> None:
    question = "How much did snow of Heihe grow in 2015?"
    asked = [Asked("a", "d1", question, "11", "x", ("d1", "d2")), Asked("b", "d2", question, "12", "x")]
    found = resolve(asked, WORDING)
    assert [(d.id, d.code) for d in found.drops] == [("b", "near_duplicate")]
    assert found.positives == {"a": ("d1", "d2")}


@given(asked_lists, st.integers())
@settings(max_examples=60, deadline=None)
def test_resolve_whatever_the_order_gives_the_same(asked: list[Asked], seed: int) -> None:
    shuffled = list(asked)
    random.Random(seed).shuffle(shuffled)
    assert resolve(asked, WORDING) == resolve(shuffled, WORDING)


@given(asked_lists)
@settings(max_examples=60, deadline=None)
def test_resolve_leaves_no_question_with_two_gold_datasets_unmerged(asked: list[Asked]) -> None:
    found = resolve(asked, WORDING)
    dropped = {d.id for d in found.drops}
    kept = [a for a in asked if a.id not in dropped]
    prints = [wordprint(a.id, a.question, a.question_type, WORDING.stop) for a in kept]
    texts = [p.text for p in prints]
    assert len(set(texts)) == len(texts)  # the same words never survive twice


@given(asked_lists)
@settings(max_examples=60, deadline=None)
def test_resolve_merges_only_agreeing_answers_and_accounts_for_every_drop(asked: list[Asked]) -> None:
    known = {a.id: a for a in asked}
    found = resolve(asked, WORDING)
    dropped = {d.id for d in found.drops}
    assert len(dropped) == len(found.drops)
    assert not dropped & set(found.positives)
    for drop in found.drops:
        if drop.code == "merged":
            assert drop.of not in dropped
            assert known[drop.id].dataset_id in found.positives[drop.of]
            assert answers_agree(known[drop.of].answer, known[drop.id].answer, WORDING)
        elif drop.code == "near_duplicate":
            assert drop.of not in dropped
            assert known[drop.of].dataset_id == known[drop.id].dataset_id
        else:
            assert drop.of in dropped
    for id, datasets in found.positives.items():
        assert known[id].dataset_id in datasets
        assert list(datasets) == sorted(set(datasets))


@given(asked_lists)
@settings(max_examples=60, deadline=None)
def test_near_duplicates_finds_what_comparing_all_pairs_finds(asked: list[Asked]) -> None:
    prints = [wordprint(a.id, a.question, a.question_type, WORDING.stop) for a in asked]
    expected: dict[str, set[str]] = {}
    for n, own in enumerate(prints):
        leaders = [(-own.similarity(p), p.id) for p in prints[:n] if p.id in expected and own.similarity(p) >= 0.8]
        if leaders:
            expected[min(leaders)[1]].add(own.id)
        else:
            expected[own.id] = set()
    found = {g.leader: {i for i, _ in g.members} for g in near_duplicates(asked, WORDING.stop)}
    assert found == {k: v for k, v in expected.items() if v}


@given(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS))
def test_answers_agree_is_symmetric_and_reflexive(first: str, second: str) -> None:
    assert answers_agree(first, second, WORDING) == answers_agree(second, first, WORDING)
    assert answers_agree(first, first, WORDING)


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ("Yes", "Yes, they are merged.", True),
        ("Yes", "No", False),
        ("11", "11 stations", True),
        ("11", "12", False),
        ("3.2 m", "3.2 meters", True),
        ("lower reaches of the Heihe", "the lower reaches of the Heihe River in China", True),
        ("lower reaches of the Heihe", "the Third Pole", False),
        ("", "snow", False),
    ],
)
def test_answers_agree_by_polarity_numbers_and_words(first: str, second: str, agree: bool) -> None:
    assert answers_agree(first, second, WORDING) is agree


def test_near_duplicates_with_embeddings_adds_paraphrases_that_words_miss() -> None:
    asked = [
        Asked("a", "d1", "What drives melt of mountain ice?", "Heat"),
        Asked("b", "d2", "Why do alpine glaciers shrink?", "Heat"),
        Asked("c", "d3", "What is albedo?", "Reflectance"),
    ]
    vectors = {
        "what drives melt of mountain ice": [1, 0.02],
        "why do alpine glaciers shrink": [1, 0],
        "what is albedo": [0, 1],
    }

    def embed(texts: object) -> np.ndarray:
        return np.array([vectors[t] for t in texts], dtype=float)

    assert near_duplicates(asked) == []
    (group,) = near_duplicates(asked, embed=embed)
    assert (group.leader, [i for i, _ in group.members]) == ("a", ["b"])


LONG = (
    "Access is difficult in winter, so that gauges are rare.",
    "Few instruments stand there because the roads are closed by snow.",
    "Few instruments stand there because the roads are closed by 3 m of snow.",
    "Gauges are rare since access is hard in the Karakoram.",
    "Gauges are rare since access is hard in the Pamirs.",
    "The cover increases with height.",
    "The cover decreases with height.",
)


@pytest.mark.parametrize(
    ("first", "second", "against"),
    [(0, 1, False), (1, 2, False), (3, 4, True), (5, 6, True), (0, 3, False)],
)
def test_answers_contradict_by_names_numbers_and_opposites(first: int, second: int, against: bool) -> None:
    wording = LanguageWording(
        affirmative=("yes",), negative=("no",), opposites=(("increase", "decrease"),), stop_words=("the",)
    )
    assert contradict(LONG[first], LONG[second], wording) is against
    assert contradict(LONG[second], LONG[first], wording) is against


@pytest.mark.parametrize(("cosine", "codes"), [(0.9, {"merged"}), (0.5, {"conflicting_gold"})])
def test_answers_that_share_no_words_agree_when_embeddings_say_so(cosine: float, codes: set[str]) -> None:
    asked = [
        Asked("a", "d1", "Why are gauges rare?", LONG[0], "x"),
        Asked("b", "d2", "Why are gauges rare?", LONG[1], "x"),
    ]

    def embed(texts: object) -> np.ndarray:
        side = (1 - cosine**2) ** 0.5
        return np.array([[1.0, 0.0] if t != LONG[1] else [cosine, side] for t in texts])

    assert {d.code for d in resolve(asked, WORDING).drops} == {"conflicting_gold"}
    assert {d.code for d in resolve(asked, WORDING, embed=embed).drops} == codes


@given(asked_lists, st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_resolve_with_embeddings_never_merges_contradicting_answers(asked: list[Asked], threshold: float) -> None:
    known = {a.id: a for a in asked}

    def embed(texts: object) -> np.ndarray:
        return np.ones((len(texts), 2))  # a model that finds everything alike

    found = resolve(asked, WORDING, embed=embed, embed_threshold=2.0, answer_threshold=threshold)
    for drop in found.drops:
        if drop.code == "merged":
            first, second = known[drop.of].answer, known[drop.id].answer
            assert answers_agree(first, second, WORDING) or not contradict(first, second, WORDING)


def test_an_abbreviation_spelt_like_a_stop_word_exchanges_nothing() -> None:
    stop = ("at", "the", "were", "was")
    first = wordprint("a", "Were the annual temperature (AT) data derived from rasters?", "x", stop)
    again = wordprint("b", "Were the annual temperature (AT) data were derived from rasters?", "x", stop)
    other = wordprint("c", "Were the annual temperature (ZQ) data derived from rasters?", "x", stop)
    assert first.similarity(again) == 1.0
    assert first.similarity(other) == 0.0


ENGLISH = Taxonomies(Resources()).wording.of("en")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            (
                "How do sedges and graminoids differ in the relative change of their fresh productivity?",
                "Sedges +5.67 %, graminoids -1.55 %.",
            ),
            (
                "How do sedges and forbs differ in the relative change of their fresh productivity?",
                "Sedges +5.67 %, forbs -2.26 %.",
            ),
        ),
        (
            (
                (
                    "Do human activities dominate changes of grassland productivity over a "
                    "larger area than climate change?"
                ),
                "Yes",
            ),
            (
                (
                    "Does climate change dominate changes of grassland productivity over a larger "
                    "area than human activities?"
                ),
                "No",
            ),
        ),
        (
            ("How did lake area in the southern basin change between the two surveys?", "It shrank slightly."),
            ("How did lake area in the northern basin change between the two surveys?", "It grew by a quarter."),
        ),
    ],
    ids=["another name", "another direction", "another word"],
)
def test_questions_that_exchange_a_thing_or_a_direction_are_two(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    asked = [Asked("a", "d1", *first, "x"), Asked("b", "d2", *second, "x")]
    assert resolve(asked, ENGLISH).groups == ()


def test_another_word_for_the_same_thing_is_still_a_duplicate() -> None:
    asked = [
        Asked(
            "a",
            "d1",
            "What is the main driver of the expansion of closed lakes on the central plateau since the year 1990?",
            "more precipitation",
            "x",
        ),
        Asked(
            "b",
            "d1",
            "What is the primary driver of the expansion of closed lakes on the central plateau since the year 1990?",
            "precipitation",
            "x",
        ),
    ]
    assert [d.code for d in resolve(asked, ENGLISH).drops] == ["near_duplicate"]
