"""The meaning of each rejection code of this wing, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "no_abstract": "The paper has no abstract to make a query from.",
    "no_facet": "No sentence of the abstract has an aspect of this facet.",
    "field_length": "A field of the need has too many words.",
    "copies_title": "The query repeats several consecutive words of a paper's title.",
    "copies_abstract": "The query repeats several consecutive words of a paper's abstract.",
    "not_in_paper": "Fewer than half of the field's words are in the paper.",
    "no_fields": "No field of the need remains for keyphrases.",
    "names_gold": "The query names a dataset that answers it.",
    "names_method": "The need contains the name of a method from a paper's title.",
    "not_first_person": "The need is not written in the first person.",
    "aspect_count": "The need was divided into too few or too many aspects.",
    "sub_aspect_count": "An aspect has too many sub-aspects.",
    "sentence_number": "An aspect names a sentence that does not exist.",
    "uncovered_sentence": "A sentence of the need is in no aspect.",
    "equal_aspects": "Two aspects say nearly the same.",
    "empty_aspect": "An aspect says nothing.",
    "no_content": "A sub-aspect is not narrower than its aspect, or repeats another.",
    "not_divided": "No division of the need into aspects is usable.",
    "introduces": "The paper introduces the dataset, and the recipe excludes such papers.",
}
