"""The meaning of each rejection code of this wing, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "off_topic": "The sentence says nothing about the dataset.",
    "no_question": "The reply contains no question.",
    "no_answer": "The reply contains no answer.",
    "change_lost": "The changed fact of a question with the answer No is missing in the question.",
    "fact_altered": "The question alters a fact of its evidence.",
    "answer_given_away": "The question gives its answer away.",
    "option_missing": "The question does not name the options.",
    "no_change": "No rule turns a fact of the evidence into its contrary, which a question with the answer No needs.",
    "other_quantity": "The question does not ask for the quantity that the evidence states.",
    "ambiguous": "Several values of the evidence fit the question, and it does not say which is meant.",
    "no_instance": "The answer names none of the examples that the evidence gives.",
    "no_options": "The evidence contains nothing that could be the other option.",
}
