"""A licence is open only if its whole text is recognised. The texts say who wrote them (``tests/data``)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.records.licences import Terms, licence_allowed, normalise_licence, recognised, terms_of

_TEXTS = yaml.safe_load((Path(__file__).parents[3] / "data/licence_texts.yaml").read_text(encoding="utf-8"))
_OPEN = {text: name for half in _TEXTS.values() for text, name in half["open"].items()}
_RESTRICTED = [text for half in _TEXTS.values() for text in half["restricted"]]
_WANTED = ("cc-by", "cc0", "public-domain", "odc-by", "pddl", "ogl", "apache", "mit", "gpl", "cc-by-sa")


@pytest.mark.parametrize(("text", "name"), _OPEN.items())
def test_an_open_licence_has_its_short_name(text: str, name: str) -> None:
    assert normalise_licence(text) == name
    assert normalise_licence(name) == name
    assert terms_of(text) in (Terms.OPEN, Terms.SHARE_ALIKE)


@pytest.mark.parametrize("text", _RESTRICTED)
def test_a_restricted_licence_is_never_open(text: str) -> None:
    name = normalise_licence(text)
    assert terms_of(name) not in (Terms.OPEN, Terms.SHARE_ALIKE)
    assert not licence_allowed(name, _WANTED)
    assert normalise_licence(name) == name


_REST = (
    "not",
    "no",
    "except",
    "unless",
    "only",
    "for research",
    "but",
    "or",
    "nc",
    "nd",
    "non-commercial",
    "embargo",
    "CC0 CC BY",
)


@given(
    st.sampled_from(sorted(set(_OPEN) - {"CC0", "cc-by"})),
    st.sampled_from(_REST),
    st.booleans(),
    st.sampled_from(" ,;(\n"),
)
def test_no_word_may_be_left_over(text: str, word: str, before: bool, mark: str) -> None:
    said = f"{word}{mark}{text}" if before else f"{text}{mark}{word}"
    assert terms_of(said) not in (Terms.OPEN, Terms.SHARE_ALIKE)


@given(st.text(max_size=300))
def test_a_name_gives_itself_and_a_cut_text_is_no_licence(text: str) -> None:
    name = normalise_licence(text)
    assert normalise_licence(name) == name and 0 < len(name) <= 200
    assert recognised(normalise_licence(f"{'CC BY 4.0 ' * 30}{text} not")) is None


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("https://creativecommons.org/licenses/by-nc-sa/4.0/legalcode", "cc-by-nc-sa-4.0"),
        ("Attribution-NonCommercial-ShareAlike 4.0 International (CC BY-NC-SA 4.0)", "cc-by-nc-sa-4.0"),
        ("Attribution-NoDerivatives 4.0", "cc-by-nd-4.0"), ("CCBYNCND", "cc-by-nc-nd"), ("ODbL", "odbl-1.0"),
        ("Ask the author first", "ask the author first"), ("\x1b[2JAsk \u202eus", "[2jask us"),
        (None, "unknown"), ("", "unknown"),
        ("notspecified", "unknown"), ("On request", "unknown"), ("Auf Anfrage", "unknown"), ("Open Access", "unknown"),
        ("The data are available from the corresponding author upon reasonable request.", "unknown"),
        ("Available on request, not for sale", "available on request, not for sale"),
        ("Datenlizenz Deutschland - Zero - Version 2.0", "dl-de-zero-2.0"),
        ("https://www.govdata.de/dl-de/zero-2-0", "dl-de-zero-2.0"),
        ("http://dcat-ap.de/def/licenses/dl-zero-de/2.0", "dl-de-zero-2.0"),
        ("http://dcat-ap.de/def/licenses/cc-by/4.0", "cc-by-4.0"), ("CC-BY-5.0", "cc-by-5.0"),
        ("GPL-2.0 WITH Classpath-exception-2.0", "gpl-2.0 with classpath-exception-2.0"),
    ],
)  # fmt: skip
def test_other_licences_are_named_or_kept_as_stated(stated: str | None, name: str) -> None:
    assert normalise_licence(stated) == name
    assert normalise_licence(name) == name


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        (["CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "Open Access"], "cc-by-4.0"),
        (["cc-by", "CC BY 4.0"], "cc-by-4.0"), (["CC BY 4.0", "© 2020 The Authors"], "cc-by-4.0"),
        (["CC BY 4.0", "CC BY-NC 4.0"], "cc-by-4.0; cc-by-nc-4.0"),
        (["CC BY 4.0", "© 2020 NASA, CC BY-NC 4.0"], "cc-by-4.0; © 2020 nasa, cc by-nc 4.0"),
        (["CC BY 4.0", "© The Authors, all rights reserved"], "cc-by-4.0; © the authors, all rights reserved"),
        (["CC BY 4.0", "info:eu-repo/semantics/closedAccess"], "cc-by-4.0; info:eu-repo/semantics/closedaccess"),
        ([], "unknown"), (["Open Access", ""], "unknown"),
    ],
)  # fmt: skip
def test_statements_about_one_thing_must_agree(statements: list[str], name: str) -> None:
    assert normalise_licence(statements) == name
    assert normalise_licence(name) == name


@pytest.mark.parametrize(
    ("licence", "wanted", "allowed"),
    [
        ("cc-by-4.0", ["cc-by"], True), ("cc-by-nc-4.0", ["cc-by"], False), ("cc-by-3.0", ["cc-by-4.0"], False),
        ("cc0-1.0", ["cc-by", "cc0"], True), ("unknown", ["cc-by"], False), ("unknown", ["unknown"], True),
        ("ask the author first", ["cc-by"], False), ("ask the author first", ["Ask the author first"], True),
        ("mit or apache-2.0", ["mit", "apache"], True), ("mit or apache-2.0", ["mit"], False),
        ("cc-by-5.0", ["cc-by"], False), ("gpl-3.0-or-later", ["gpl"], True), ("gpl-3.0-or-later", ["lgpl"], False),
    ],
)  # fmt: skip
def test_a_licence_is_wanted_in_any_version_and_never_a_stricter_one(
    licence: str, wanted: list[str], allowed: bool
) -> None:
    assert licence_allowed(licence, wanted) is allowed


@pytest.mark.parametrize(
    ("licence", "terms"),
    [
        ("cc0-1.0", Terms.OPEN), ("cc-by-sa-4.0", Terms.SHARE_ALIKE), ("odbl-1.0", Terms.SHARE_ALIKE),
        ("cc-by-nc-sa-4.0", Terms.NON_COMMERCIAL), ("cc-by-nc-nd-4.0", Terms.NO_DERIVATIVES),
        ("mit and gpl-3.0", Terms.SHARE_ALIKE), ("licenseref-own", Terms.OTHER), ("own terms", Terms.OTHER),
        ("unknown", Terms.NOT_STATED), ("cc-by-5.0", Terms.OTHER),
    ],
)  # fmt: skip
def test_terms_are_those_of_the_strictest_part(licence: str, terms: Terms) -> None:
    assert terms_of(licence) == terms


@pytest.mark.parametrize(
    "text",
    [
        "a." * 1900 + "x",
        "-" * 3990,
        "cc by or " * 440,
        "<a" * 1900,
        "datenlizenz deutschland" + " -" * 1900,
        "x" * 10**6,
    ],
)
def test_a_long_text_is_read_in_short_time(text: str) -> None:
    began = time.monotonic()
    assert recognised(text) is None
    assert time.monotonic() - began < 5
