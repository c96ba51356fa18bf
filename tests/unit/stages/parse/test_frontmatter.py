"""Front matter: authors, DOI, year and licence as a paper prints or states them."""

from __future__ import annotations

import pytest
from defusedxml import ElementTree

from scirgen.core.records import BlockKind
from scirgen.core.records.licences import Terms, terms_of
from scirgen.core.text.doi import find_doi
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.frontmatter import front_matter, printed_year
from scirgen.stages.parse.jats import parse_jats


def paper(*blocks: tuple[BlockKind, str], **given: object) -> ParsedPaper:
    return ParsedPaper(parser="x", blocks=tuple(ParsedBlock(kind=k, text=t) for k, t in blocks), **given)


TITLE = (BlockKind.TITLE, "Lake ice of the north")
ABSTRACT = (BlockKind.PARAGRAPH, "Ice cover shrinks (Berg et al., 1999; doi 10.1/of-another).")


def test_the_papers_own_doi_is_the_one_in_its_head() -> None:
    found = front_matter(paper((BlockKind.OTHER, "Article https://doi.org/10.1234/ICE.5"), TITLE, ABSTRACT))
    assert found.doi == "10.1234/ice.5"


def test_a_doi_in_running_text_is_another_papers() -> None:
    assert front_matter(paper(TITLE, ABSTRACT)).doi is None


@pytest.mark.parametrize(
    "printed",
    [
        "https://doi.org/10.1234/ \n journal.ice.0115884 May 2021",
        "doi:10.1234/journal.ice. 0115884",
        "DOI 10.1234/journal.ice.0115884. 2 Institute of Ice",
    ],
)
def test_a_doi_that_is_broken_over_lines_is_joined(printed: str) -> None:
    assert front_matter(paper((BlockKind.OTHER, printed), TITLE)).doi == "10.1234/journal.ice.0115884"


def test_a_year_in_a_title_or_text_is_not_the_year_of_the_paper() -> None:
    found = front_matter(paper((BlockKind.TITLE, "Ice until 2080"), (BlockKind.PARAGRAPH, "Since 1970 ice shrinks.")))
    assert found.year is None


@pytest.mark.parametrize(
    "printed",
    [
        "CITE AS: Doe, J. 2023. Lake ice of the north. Acta Glacialis 53: 271-280.",
        "Como citar este artículo Doe, J. Lake ice of the north. Glacialia, v. 33, e200057, 2023. https://doi.org/10.1/x",
        "J Ice Res 2023;28:e82426; doi: 10.1234/82426",
        "Artigo Glacialia 49: e1112020, 4 tab., 3 fig., 2023 http://dx.doi.org/10.1590/2236-8906-111/2020",
        "Electron. Ice 7 (2023), article no. 3. Final version accepted on June 3, 2022",
        "Last revised 2023-05-01",
    ],
)
def test_the_year_is_that_of_the_papers_own_entry(printed: str) -> None:
    assert front_matter(paper(TITLE, (BlockKind.OTHER, printed), ABSTRACT)).year == 2023


def test_the_name_or_number_of_a_section_is_no_title() -> None:
    text = (BlockKind.PARAGRAPH, "Ice cover shrinks in the north since 1970. " * 4)
    for name in ("ABSTRACT", "摘要", "2. Changes", "§1. Introduction"):
        assert front_matter(paper((BlockKind.HEADING, name), text, (BlockKind.HEADING, "Nomenclature"))).title == ""


def test_the_licence_is_the_one_that_the_paper_names() -> None:
    note = (BlockKind.FOOTNOTE, "© 2021 The Authors. Published under http://creativecommons.org/licenses/by-nc/4.0/.")
    found = front_matter(paper(TITLE, ABSTRACT, note))
    assert (found.licence, found.year) == ("cc-by-nc-4.0", 2021)


def test_a_licences_address_may_be_broken_over_lines() -> None:
    printed = "This article is distributed under the terms of the Creative Commons Attribution (CC BY) license ("
    printed += "https:// creativecommons.org/licenses/by/ 4.0/)."
    assert front_matter(paper(TITLE, (BlockKind.OTHER, printed), ABSTRACT)).licence == "cc-by-4.0"


def test_a_licence_before_a_long_list_of_references_is_read() -> None:
    body = [(BlockKind.PARAGRAPH, f"Ice became thinner in year {n}.") for n in range(20)]
    note = (BlockKind.FOOTNOTE, "This is an article under the terms of the Creative Commons Attribution License.")
    cited = [(BlockKind.REFERENCE, f"Doe, J. {n}. Ice.") for n in range(30)]
    assert front_matter(paper(TITLE, ABSTRACT, *body, note, *cited)).licence == "cc-by"


@pytest.mark.parametrize(
    ("printed", "licence"),
    [
        ("This is an open access article under the CC BY-NC-ND license "
         "(http://creativecommons.org/licenses/by-nc-nd/4.0/).", "cc-by-nc-nd-4.0"),
        ("Creative Commons Attribution – Non-Commercial 4.0", "cc-by-nc-4.0"),
        ("Authors of JOSS papers retain copyright and release the work under a Creative Commons Attribution 4.0 "
         "International License (CC-BY).", "cc-by-4.0"),
        ("It is made available under a CC-BY-NC 4.0 International license.", "cc-by-nc-4.0"),
        ("© 2026 Zhang et al. This is an open access article distributed under the terms of the Creative Commons "
         "Attribution License, which permits unrestricted use, distribution, and reproduction in any medium, provided "
         "the original author and source are credited.", "cc-by"),
        ("To view a copy of this licence, visit http://creativecommons.org/ licenses/by/4.0/.", "cc-by-4.0"),
        ("This article is licensed under a Creative Commons Attribution 4.0 International License. The images in this "
         "article are included in the article’s Creative Commons licence, unless indicated otherwise. The Creative "
         "Commons Public Domain Dedication waiver (http://creativecommons.org/publicdomain/zero/1.0/) applies to the "
         "data made available in this article.", "cc-by-4.0"),
        ("The data are available under CC0.", "unknown"), ("The package is licensed under the MIT License.", "unknown"),
        ("The program ice.py is distributed under the terms of the GPL.", "unknown"),
        ("It is distributed under the GNU General Public License.", "unknown"),
        ("This paper is distributed under the GNU Free Documentation License.", "gfdl"),
        ("Open access", "unknown"), ("Map data © contributors, licensed under ODbL", "unknown"),
    ],
)  # fmt: skip
def test_the_papers_licence_is_read_and_not_that_of_its_data(printed: str, licence: str) -> None:
    assert front_matter(paper(TITLE, ABSTRACT, (BlockKind.FOOTNOTE, printed))).licence == licence


@pytest.mark.parametrize(
    "printed",
    [
        "This article is available under the Creative Commons Attribution License. "
        "Commercial reuse needs the publisher's permission.",
        "This is an open access article published under an ACS AuthorChoice License, which permits copying of the "
        "article for non-commercial purposes.",
        "This article is not licensed under CC BY.",
    ],
)
def test_what_is_printed_beside_an_open_licence_keeps_it_from_being_open(printed: str) -> None:
    found = front_matter(paper(TITLE, ABSTRACT, (BlockKind.FOOTNOTE, printed))).licence
    assert terms_of(found) is Terms.OTHER


def test_a_paper_without_abstract_begins_with_its_first_paragraphs() -> None:
    first = "The lake freezes in November and thaws in May. " * 20
    found = front_matter(paper(TITLE, (BlockKind.PARAGRAPH, first)))
    assert found.abstract.startswith("The lake freezes") and len(found.abstract) <= 1500


JATS = """<article><front><article-meta>
<article-id pub-id-type="doi">10.1234/ICE.5</article-id>
<title-group><article-title>Lake ice</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Berg</surname><given-names>Ida</given-names>\
<suffix>Jr.</suffix></name>\
</contrib>
<contrib contrib-type="editor"><name><surname>Lund</surname><given-names>Per</given-names></name></contrib>\
</contrib-group>
<pub-date><year>2021</year></pub-date>
<permissions><license xmlns:xlink="http://www.w3.org/1999/xlink"
 xlink:href="https://creativecommons.org/licenses/by/4.0/"/></permissions>
<abstract><p>Ice shrinks.</p></abstract></article-meta></front></article>"""


def test_jats_states_its_front_matter() -> None:
    found = front_matter(parse_jats(ElementTree.fromstring(JATS)))
    assert (found.title, found.authors, found.doi, found.year) == ("Lake ice", ("Ida Berg Jr.",), "10.1234/ice.5", 2021)
    assert found.licence == "cc-by-4.0"


@pytest.mark.parametrize(
    ("printed", "year"),
    [
        (["Received 5 May 2006", "Published on Web 06/12/2007"], 2007),
        (["Ice Letters, Volume 0 (2060), No. 0", "draft, September 24, 2008 20:26"], 2008),
        (["Submitted: 09 October 2018", "Journal of Ice, Vol. 3, 2019, pp. 1-9", "Accepted 3 June 2018"], 2019),
        (["arXiv:2103.15348v2 [cs.CV] 21 Jun 2021"], 2021),
        (["The Ice Journal, ISSN 2073-4859"], None),
        (["1999", "Received 5 May 2006"], None),
        (["Version 2.1, January, 2010", "© 2005-10 Ice House"], 2010),
        (["© 2012–2024 Ice Team"], 2024),
        (["Jane Doe, revised 08-Oct-2006"], 2006),
        (["Received 5 May 2006; revised 7 June 2006"], None),
        (["A tool for the palettes of Doe et al. (2009) is in this package."], None),
    ],
)
def test_the_year_of_a_statement_comes_before_a_venue_and_a_date(printed: list[str], year: int | None) -> None:
    assert printed_year(printed) == year


def test_a_doi_of_zeros_is_a_template() -> None:
    assert find_doi("doi: 10.18637/jss.v000.i00") is None


@pytest.mark.parametrize(
    ("below", "keywords"),
    [((BlockKind.OTHER, "ice; lake snow"), ("ice", "lake snow")), ((BlockKind.HEADING, "1. Introduction"), ())],
)
def test_keywords_stand_below_their_heading(below: tuple[BlockKind, str], keywords: tuple[str, ...]) -> None:
    assert front_matter(paper(TITLE, ABSTRACT, (BlockKind.HEADING, "Keywords:"), below)).keywords == keywords
