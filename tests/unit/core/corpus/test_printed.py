"""What a catalogue states about a paper, joined with what the paper prints."""

from __future__ import annotations

import pytest

from scirgen.core.corpus.printed import as_printed, differences
from scirgen.core.records import Document, Paper


def _document(**printed: object) -> Document:
    told = {"id": "doc", "paper_id": "p", "text": "", "blocks": ()}
    return Document.model_validate(told | printed)


PRINTED = {"title": "Ice", "doi": "10.5555/p", "year": 2021, "authors": ("Ida Berg",), "licence": "cc-by-4.0"}


def test_a_paper_gets_what_it_prints_where_the_catalogue_states_nothing() -> None:
    found = as_printed(Paper(id="p"), _document(**PRINTED))
    assert found.model_dump(include=set(PRINTED)) == PRINTED
    assert differences(Paper(id="p"), _document(**PRINTED)) == []


def test_what_the_catalogue_states_stays() -> None:
    stated = {"title": "Lake ice", "doi": "10.5555/q", "year": 2019, "authors": ("P. Lund",), "licence": "cc-by-4.0"}
    found = as_printed(Paper.model_validate({"id": "p"} | stated), _document(**PRINTED))
    assert found.model_dump(include=set(stated)) == stated
    assert as_printed(found, None) is found


@pytest.mark.parametrize(
    ("stated", "printed", "licence"),
    [
        ("cc-by-4.0", "cc-by-nc-4.0", "cc-by-4.0; cc-by-nc-4.0"), ("cc-by", "cc-by-4.0", "cc-by-4.0"),
        ("unknown", "cc-by-nc-4.0", "cc-by-nc-4.0"), ("cc-by-4.0", "unknown", "cc-by-4.0"),
        ("own terms", "cc-by-4.0", "own terms; cc-by-4.0"),
    ],
)  # fmt: skip
def test_a_licence_is_the_one_on_which_both_agree(stated: str, printed: str, licence: str) -> None:
    paper, document = Paper(id="p", licence=stated), _document(licence=printed)
    found = as_printed(paper, document)
    assert found.licence == licence
    assert as_printed(found, document).licence == licence
    assert bool(differences(paper, document)) is (";" in licence)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"doi": "10.5555/Q"}, ["DOI: the catalogue states 10.5555/Q, the paper prints 10.5555/p"]),
        ({"doi": "10.5555/P"}, []),
        ({"year": 2012}, ["year: the catalogue states 2012, the paper prints 2021"]), ({"year": 2020}, []),
        ({"authors": ("Lund, Per",)}, ["authors: the catalogue states Lund, Per, the paper prints Ida Berg"]),
        ({"authors": ("BERG, I.",)}, []),
    ],
)  # fmt: skip
def test_a_disagreement_is_said_in_a_line(stated: dict[str, object], said: list[str]) -> None:
    assert differences(Paper.model_validate({"id": "p"} | stated), _document(**PRINTED)) == said
