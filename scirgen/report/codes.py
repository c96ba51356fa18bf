"""What the codes of rejections mean, in one sentence each; gates bring their own explanations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scirgen.core.errors import ScirgenError
from scirgen.core.registry import load_registry

MEANINGS: Final[dict[str, str]] = {
    # collect
    "no_title": "The record has no title.",
    "no_id": "The record has no identifier.",
    "bad_id": "The id holds white space or control characters, which part the columns of tables.",
    "duplicate_id": "An earlier record has the same id.",
    "licence": "The licence is not among those asked for.",
    "malformed_record": "The record cannot be read.",
    "not_found": "The paper's file is not there.",
    "no_open_copy": "No freely readable copy of the paper is known.",
    "blocked_address": "The address leads into a private network.",
    "too_large": "The file is larger than the limit.",
    "outside": "The file lies outside of the folder that was given.",
    # parse
    "no_text": "The file holds no text: a scan without text, or nothing at all.",
    "encrypted": "The file is encrypted and no password fits.",
    "no_extract": "The owner of the PDF forbids taking text out of it.",
    "damaged": "The file is damaged.",
    "not_a_pdf": "The file is named PDF and is something else.",
    "timeout": "Reading the file took longer than the limit.",
    "memory": "Reading the file took more memory than the limit.",
    "unsupported": "No parser reads this kind of file.",
    # match
    "not_named": "The paper does not name the dataset.",
    "not_used": "The paper names the dataset and does not use it.",
    "mentioned_only": "The paper mentions the dataset and does not use it.",
    "place_only": "The paper shares a place with the dataset and nothing else.",
    "unclear": "Whether the paper uses the dataset is unclear.",
    # query
    "no_abstract": "The paper has no abstract to make a query from.",
    "no_facet": "No sentence of the abstract has an aspect of this facet.",
    "field_length": "A field of the need has too many words.",
    "copies_title": "The query has several words in a row of a paper's title.",
    "copies_abstract": "The query has several words in a row of a paper's abstract.",
    "not_in_paper": "Fewer than half of the field's words are in the paper.",
    "no_fields": "No field of the need is left for keyphrases.",
    "names_gold": "The query names a dataset that answers it.",
    "names_method": "The need has the name of a method from a paper's title.",
    "not_first_person": "The need does not speak in the first person.",
    "aspect_count": "The need was divided into too few or too many aspects.",
    "sub_aspect_count": "An aspect has too many sub-aspects.",
    "sentence_number": "An aspect names a sentence that does not exist.",
    "uncovered_sentence": "A sentence of the need is in no aspect.",
    "equal_aspects": "Two aspects say nearly the same.",
    "empty_aspect": "An aspect says nothing.",
    "no_content": "A sub-aspect says no less than its aspect, or repeats another.",
    "not_divided": "No division of the need into aspects is usable.",
    "introduces": "The paper introduces the dataset, and the rule leaves such papers out.",
    # extract, verify
    "not_verbatim": "The quotation or evidence does not stand word for word in the text.",
    "instructions": "The sentence addresses a language model.",
    "surplus": "The limit was reached; better sentences were kept.",
    "wrong_category": "The sentence is of another kind than it was extracted as.",
    "irrelevant": "The sentence says nothing about the dataset.",
    "off_topic": "The sentence says nothing about the dataset.",
    "incomplete": "The sentence cannot be understood without its neighbours.",
    "redundant": "Another sentence that was kept says the same.",
    # generate
    "no_evidence": "The material holds no sentence that such a question could be asked about.",
    "too_few": "The model wrote fewer pairs than asked for.",
    "declined": "The model said that the material does not carry such a question.",
    "no_question": "The reply holds no question.",
    "no_answer": "The reply holds no answer.",
    "repeated": "The same pair was written before.",
    "reply_refused": "The model declined to answer.",
    "change_lost": "The changed fact of a question answered by No is missing from the question.",
    "fact_altered": "The question alters a fact of its evidence.",
    "answer_given_away": "The question gives its answer away.",
    "option_missing": "The question does not name the options.",
    "no_options": "The evidence holds nothing that could be the other option.",
    # filter
    "shift": "The scorer does not believe the answer more with the evidence than without it (SePer).",
    "semantic": "Answers sampled with the evidence do not mean the answer often enough (SePer as published).",
    "semantic_hard": "Answers sampled with the evidence do not mean the answer often enough (SePer, hard).",
    "nli": "The entailment model does not find that the evidence entails the answer.",
    "llm_judge": "A model that judges the pair finds the answer unsupported.",
    # release
    "near_duplicate": "Nearly the same question about the same dataset is in the release.",
    "merged": "Another dataset's question says and answers the same: one row has both as gold.",
    "conflicting_gold": "Several datasets have the question, with different answers.",
    "contaminated": "The question is in a benchmark that was given for decontamination.",
    "contaminated_paraphrase": "The question says the same as one of a benchmark that was given for decontamination.",
    "left_out": "The row is beyond the target of its cell.",
}


def meanings(codes: Iterable[str]) -> dict[str, str]:
    """Code -> its meaning, for those that have one; a gate's is the gate's own explanation."""
    found: dict[str, str] = {}
    registry = None
    for code in sorted(set(codes)):
        if code in MEANINGS:
            found[code] = MEANINGS[code]
            continue
        registry = registry or load_registry()
        try:
            gate = registry.get("gate", code)
        except ScirgenError:
            continue
        found[code] = str(getattr(gate, "explanation", ""))
    return {code: text for code, text in found.items() if text}
