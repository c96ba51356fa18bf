"""The meaning of each rejection code, in one sentence; plugins register theirs, and gates explain themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, cast

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
    "no_file": "No file of the paper was found.",
    "no_access": "Access to the paper's file is refused.",
    "too_many_redirects": "The address of the paper's file leads from one address to the next without end.",
    "too_large": "The file is larger than the limit.",
    "outside": "The file is outside the given folder.",
    # parse
    "no_text": "The file contains no text: it is a scan, or empty.",
    "no_sentence": "The file contains a few words and no sentence.",
    "damaged": "The file is damaged.",
    "killed": "Another program killed the process that reads the file; the next run tries it again.",
    "not_a_pdf": "The file is named PDF but has another format.",
    "timeout": "Reading the file took longer than the limit.",
    "memory": "Reading the file took more memory than the limit.",
    "print_differs": "The paper prints another DOI, year, author or licence than the catalogue states.",
    "unsupported": "No parser reads this kind of file.",
    "table_shape": "The rows of a table overlap, are too few or too many, or hold running text or text to remove.",
    "table_header": "No row of the table names its columns.",
    "table_signs": "The table has signs without a Unicode value, which may be minus signs.",
    "table_columns": "It is not clear from the page where the table's columns or its end are.",
    # match
    "not_named": "The paper does not name the dataset.",
    "not_used": "The paper names the dataset but does not use it.",
    "mentioned_only": "The paper mentions the dataset but does not use it.",
    "place_only": "The paper and the dataset share only a place name.",
    "unclear": "It is unclear whether the paper uses the dataset.",
    # extract, verify
    "not_verbatim": "The quotation or evidence does not occur verbatim in the text.",
    "instructions": "The sentence addresses a language model.",
    "surplus": "The limit was reached; better sentences were kept.",
    "wrong_category": "The sentence is of a different kind than the one it was extracted as.",
    "irrelevant": "The sentence says nothing about the dataset.",
    "incomplete": "The sentence cannot be understood without its neighbours.",
    "redundant": "Another sentence that was kept says the same.",
    "no_such_line": "The model names a line that the evidence does not have.",
    "no_such_sentence": "The model names a sentence that the passage does not have.",
    "many_cells": "The model names more cells than one statement needs.",
    "no_such_cell": "The model names a cell that the table does not have, or cells of several tables.",
    # ask, answer
    "no_subject": "The paper's subject cannot be said without the paper's own words.",
    "borrowed": "The question has numbers, names or a run of words of the text.",
    "empty": "The reply has no answer.",
    "no_gold": "The answer cites no passage that carries it.",
    # generate
    "no_evidence": "The material contains no sentence that suits such a question.",
    "declined": "The model wrote fewer pairs than the lines seemed to support.",
    "unchosen": "The lines support fewer pairs than there are types, and the model chose other types.",
    "unknown_type": "The reply names a type that was not requested.",
    "repeated": "The same pair was written before.",
    "reply_refused": "The model declined to answer.",
    # filter
    "shift": "The evidence does not make the answer more likely to the scorer (SePer).",
    "calibrated": "Shift and words together make it unlikely that the evidence supports the answer.",
    "second_reader": "A second reader answers otherwise from the evidence alone (`filter.second_reader: 1`).",
    "one_document": "One document is enough to answer a question written for two.",
    "unasked": "Nobody who has read neither document would ask this question, which was written for two.",
    "guessable": "An earlier version left it out: without documents, a model gives the main part of the answer.",
    "unsure": "The scores cannot decide, no judge did, and `filter.unsure` rejects such pairs.",
    "nli": "The entailment model does not find that the evidence entails the answer.",
    "llm_judge": "The judge model finds the answer unsupported.",
    # release
    "near_duplicate": "The release has nearly the same question about the same dataset.",
    "merged": "Another dataset has the same question with the same answer: one row has both as gold.",
    "conflicting_gold": "Several datasets have the question, with different answers.",
    "other_part": "The row cites a document that only another part has read; the merged release has it.",
    "contaminated": "The question occurs in a benchmark given for decontamination.",
    "expert_rejected": "People who labelled the row found it unfaithful.",
    "over_quota": "The target (generate.quota) keeps no more such rows.",
}


def meanings(codes: Iterable[str] | None = None) -> dict[str, str]:
    """Return a mapping: code (None: all) -> its meaning, if it has one: as registered (kind ``codes``), or a gate's own
    explanation."""
    registry, stated = load_registry(), dict[str, str]()
    for name in registry.names("codes"):
        with suppress(ScirgenError):
            stated.update(cast(Mapping[str, str], registry.get("codes", name)))
    asked = sorted({*stated, *registry.names("gate")} if codes is None else {*codes})
    for code in {*asked} & {*registry.names("gate")}:
        with suppress(ScirgenError):
            stated.setdefault(code, str(getattr(registry.get("gate", code), "explanation", "")))
    return {code: stated[code] for code in asked if stated.get(code)}
