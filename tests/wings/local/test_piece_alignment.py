from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.llm.base import ScoreRequest
from scirgen.llm.server.openai_scoring import first_of_answer
from scirgen_local.encoding import JointEncoder
from tests.support.tiny_models import tokenizer

HALF = "\ufffd"


@pytest.mark.parametrize(
    ("pieces", "prompt", "answer", "first"),
    [
        (["Answer", ":", " Yes"], "Answer:", " Yes", 2),
        (["Answer", ":", " Yes", "."], "Answer: ", "Yes.", 2),  # overlaps the boundary: belongs to the answer
        (["<s>", "Answer", ":", "Yes", "sir"], "Answer:", " Yes sir", 3),  # a decoder that drops spaces
        (["A", ":", " ", HALF, HALF, "0"], "A:", " ° 0", 2),  # one after parts of a character
        (["A", ":", " ", HALF, HALF, "C"], "A:", " °C", 2),  # parts of a character
        (["A", ":", f" {HALF}", HALF, "C"], "A:", " °C", 2),
        (["A", ":", "", " °", "C"], "A:", " °C", 2),  # the same, shown whole at its end
        (["A", ":", " ", HALF, HALF, "0"], "A:", " ° 0", 2),  # and a space dropped behind them
        (["°", "", "°"], "°", "°", 1),
        (["ü", HALF, HALF, "é"], "ü", "雪é", 1),
        (["", "Answer", ":", " No", ""], "Answer:", " No", 3),  # control tokens without a text
    ],
)
def test_the_answer_begins_with_the_first_token_past_the_boundary(
    pieces: list[str], prompt: str, answer: str, first: int
) -> None:
    assert first_of_answer(pieces, prompt + answer, len(prompt)) == first


def test_pieces_of_another_text_are_not_aligned() -> None:
    assert first_of_answer(["Answer", ":", " Maybe"], "Answer: Yes", 7) is None
    assert first_of_answer([" Yes"], "Answer: Yes", 2) is None


TOKENIZER = tokenizer()


@settings(deadline=None, max_examples=150)
@given(
    st.text("abc 10.,:\n°é雪²", min_size=1, max_size=20),
    st.text("abc 10.,:\n°é雪²😀", min_size=1, max_size=20),
    st.booleans(),
)
def test_it_is_where_the_tokenizer_puts_it(prompt: str, answer: str, drops: bool) -> None:
    encoder = JointEncoder(TOKENIZER)
    request = ScoreRequest(f"{prompt}\nAnswer:", f" {answer}")
    encoded = encoder.encode(request)
    pieces = encoder.pieces(encoded.ids)
    if drops:
        pieces = tuple(p.removeprefix(" ") or p for p in pieces)
    assert first_of_answer(pieces, request.prompt + request.continuation, len(request.prompt)) == encoded.first
