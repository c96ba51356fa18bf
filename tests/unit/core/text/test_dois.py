"""DOIs, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.text.doi import doi_in_file_name, doi_tails, find_doi, find_dois, mentions_doi
from scirgen.core.text.words import letters


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("https://doi.org/10.11888/Atmos.tpdc.300398", "10.11888/atmos.tpdc.300398"),
        ("doi:10.1000/182.", "10.1000/182"),
        ("(see 10.1002/(SICI)1097-0258(19980815)17:15)", "10.1002/(sici)1097-0258(19980815)17:15"),
        ("10.1002/(SICI)1099(97)12:3<31::AID-J1>3.0.CO;2-G", "10.1002/(sici)1099(97)12:3<31::aid-j1>3.0.co;2-g"),
        ("10.5555/a), and", "10.5555/a"), ("10.5555/a<sub>2</sub>", "10.5555/a"),
        ("https://doi.org/https://doi.org/10.5194/essd-15-621-2023", "10.5194/essd-15-621-2023"),
        ("version 10.5", None), (None, None), ("DOI: 10.21105/joss.0XXXX", None),
        ("10.5281/zenodo.XXXXXXX", None), ("10.1145/nnnnnnn.nnnnnnn", None), ("doi 10.0000/abc", None),
        ("doi 10.1234/xxx; data at 10.5555/b", "10.5555/b"), ("10.1007/s-xxxi.exxon", "10.1007/s-xxxi.exxon"),
        ("10.7910/DVN/PV0DBG", "10.7910/dvn/pv0dbg"), ("10.15468/dl.y0sfra", "10.15468/dl.y0sfra"),
    ],
)  # fmt: skip
def test_a_doi_is_found_without_resolver_and_trailing_punctuation(text: str | None, doi: str | None) -> None:
    assert find_doi(text) == doi


@pytest.mark.parametrize(
    "stem", ["10.1371_journal.pone.0349705", "10.1371%2Fjournal.pone.0349705", "smith-10.1371-journal.pone.0349705"]
)
def test_a_file_may_be_named_after_a_doi(stem: str) -> None:
    assert doi_in_file_name(stem) == "10.1371/journal.pone.0349705"


_SUFFIX = st.text("abcdefghijklmnopqrstuvwxyz0123456789.-", min_size=1, max_size=20).filter(lambda s: s[-1].isalnum())


@given(_SUFFIX, st.integers(1000, 99999), st.data())
def test_doi_broken_by_white_space_is_found_and_a_longer_one_is_not(
    suffix: str, prefix: int, data: st.DataObject
) -> None:
    doi = f"10.{prefix}/{suffix}"
    at = data.draw(st.integers(doi.index("/") + 1, len(doi)))
    text = f"Data at https://doi.org/{doi[:at]}\n{doi[at:]} (accessed in May)"
    assert mentions_doi(doi_tails(text), doi)
    assert not mentions_doi(doi_tails(f"see {doi}7x, and more"), doi)


@given(_SUFFIX, _SUFFIX)
def test_all_dois_of_a_text_are_found_once_in_order(first: str, second: str) -> None:
    wanted = list(dict.fromkeys([f"10.5555/{first}", f"10.6666/{second}"]))
    assert find_dois(f"{wanted[0]} and doi:{wanted[-1].upper()}; again {wanted[0]}.") == wanted


@given(st.text())
def test_letters_do_not_depend_on_case_spaces_or_punctuation(text: str) -> None:
    assert letters(f"  {text.replace(' ', chr(10))} —") == letters(text)
