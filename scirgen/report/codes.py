"""The meaning of each rejection code, in one sentence; gates provide their own explanations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scirgen.core.errors import ScirgenError
from scirgen.core.registry import load_registry

MEANINGS: Final[dict[str, str]] = {
    # collect
    "no_title": "The record has no title.",
    "no_id": "The record has no identifier.",
    "bad_id": "The id contains white space or control characters, which would break tables.",
    "not_looked_up": "A service did not answer about a dataset that a paper cites.",
    "too_many_bad_records": "1,000 records in a row cannot be used, so the rest of the catalogue is not read.",
    "too_many_datasets": "The catalogue has more datasets than collect.most_datasets; the rest is not read.",
    "duplicate_id": "An earlier record has the same id.",
    "licence": "The licence is not among the requested ones.",
    "malformed_record": "The record cannot be read.",
    "not_found": "The paper's file is missing.",
    "no_open_copy": "No open copy of the paper is known.",
    "blocked_address": "The address leads into a private network.",
    "too_large": "The file is larger than the limit.",
    "outside": "The file is outside the given folder.",
    # parse
    "no_text": "The file contains no text: it is a scan, or empty.",
    "unreadable_text": "The PDF's fonts do not say which letters they show; `parse.ocr` can read its pages.",
    "encrypted": "The file is encrypted and no password fits.",
    "no_extract": "The owner of the PDF forbids text extraction.",
    "damaged": "The file is damaged.",
    "killed": "Another program killed the process that reads the file; the next run tries it again.",
    "not_a_pdf": "The file is named PDF but has another format.",
    "timeout": "Reading the file took longer than the limit.",
    "memory": "Reading the file took more memory than the limit.",
    "print_differs": "The paper prints another DOI, year, author or licence than the catalogue states.",
    "unsupported": "No parser reads this kind of file.",
    "table_shape": "The rows of a table overlap, are too few or too many, or hold running text.",
    "table_header": "No row of the table names its columns.",
    "table_signs": "The table has signs that the file does not name, which may be minus signs.",
    "table_columns": "It is not clear from the page where the table's columns or its end are.",
    # match
    "not_named": "The paper does not name the dataset.",
    "not_used": "The paper names the dataset but does not use it.",
    "mentioned_only": "The paper mentions the dataset but does not use it.",
    "place_only": "The paper and the dataset share only a place name.",
    "unclear": "It is unclear whether the paper uses the dataset.",
    # query
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
    # extract, verify
    "not_verbatim": "The quotation or evidence does not occur verbatim in the text.",
    "instructions": "The sentence addresses a language model.",
    "surplus": "The limit was reached; better sentences were kept.",
    "wrong_category": "The sentence is of a different kind than the one it was extracted as.",
    "irrelevant": "The sentence says nothing about the dataset.",
    "off_topic": "The sentence says nothing about the dataset.",
    "incomplete": "The sentence cannot be understood without its neighbours.",
    "redundant": "Another sentence that was kept says the same.",
    # generate
    "no_evidence": "The material contains no sentence that suits such a question.",
    "declined": "The model wrote fewer pairs than the lines seemed to carry.",
    "unchosen": "The lines carry fewer pairs than there are types, and the model chose other types.",
    "unknown_type": "The reply names a type that was not asked for.",
    "no_question": "The reply contains no question.",
    "no_answer": "The reply contains no answer.",
    "repeated": "The same pair was written before.",
    "reply_refused": "The model declined to answer.",
    "change_lost": "The changed fact of a question with the answer No is missing in the question.",
    "fact_altered": "The question alters a fact of its evidence.",
    "answer_given_away": "The question gives its answer away.",
    "option_missing": "The question does not name the options.",
    "no_change": "No rule turns a fact of the evidence into its contrary, which a question with the answer No needs.",
    "other_quantity": "The question does not ask for the quantity that the evidence states.",
    "ambiguous": "Several values of the evidence fit the question, and it does not say which is meant.",
    "no_instance": "The answer names none of the examples that the evidence gives.",
    "no_options": "The evidence contains nothing that could be the other option.",
    # filter
    "shift": "The evidence does not make the answer more likely to the scorer (SePer).",
    "semantic": "Too few answers sampled with the evidence mean the same as the answer (SePer as published).",
    "semantic_hard": "Too few answers sampled with the evidence mean the same as the answer (SePer, hard).",
    "calibrated": "Shift and words together make it unlikely that the evidence supports the answer.",
    "unsure": "The scores cannot decide, no judge did, and `filter.unsure` rejects such pairs.",
    "nli": "The entailment model does not find that the evidence entails the answer.",
    "llm_judge": "The judge model finds the answer unsupported.",
    # release
    "near_duplicate": "The release has nearly the same question about the same dataset.",
    "merged": "Another dataset has the same question with the same answer: one row has both as gold.",
    "conflicting_gold": "Several datasets have the question, with different answers.",
    "contaminated": "The question occurs in a benchmark given for decontamination.",
    "expert_rejected": "People who labelled the row found it unfaithful.",
    "left_out": "The row is beyond the target of its cell.",
}


def meanings(codes: Iterable[str]) -> dict[str, str]:
    """Code -> its meaning, if it has one; for gates, their own explanation."""
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
