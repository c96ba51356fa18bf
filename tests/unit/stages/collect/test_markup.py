"""HTML of catalogues becomes plain text at one place, for every source."""

from __future__ import annotations

import pytest

from scirgen import Dataset, plain_text
from scirgen.core.text.markup import one_line
from scirgen.stages.collect.validated_source import checked


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Depth < 5 m & p > 0.05, a<b", "Depth < 5 m & p > 0.05, a<b"),
        ("R&D; A & B", "R&D; A & B"),
        ("<ul><li>Monthly means</li><li>1&deg; grid</li></ul>", "Monthly means\n1° grid"),
        ("<p>Sea&nbsp;ice.</p><p>Snow.</p>", "Sea ice.\nSnow."),
        ("CO<sub>2</sub> in &#181;mol m<sup>-2</sup>", "CO2 in µmol m-2"),
        ("Where <em>T</em> < 0 the sensor fails", "Where T < 0 the sensor fails"),
        ("&lt;p&gt;Escaped &amp;amp; twice&lt;/p&gt;", "Escaped & twice"),
        ('<a href="https://x.org">Data</a><script>alert(1)</script>', "Data"),
        ("One<br/>two<!-- a comment -->", "One\ntwo"),
        ("value <LOD and <0.1", "value <LOD and <0.1"),
    ],
)
def test_html_becomes_text_and_signs_stay(given: str, wanted: str) -> None:
    assert plain_text(given) == wanted


def test_text_without_html_is_the_same_object() -> None:
    text = "Two  spaces\n\nand two lines stay."
    assert plain_text(text) is text


def test_title_becomes_one_line() -> None:
    assert one_line("<p>Ice</p><p>and&nbsp;snow</p>") == "Ice and snow"


class Catalogue:
    name = "mine"

    def revision(self, cursor: str | None) -> str | None:
        return None

    def datasets(self, cursor: str | None = None) -> list[Dataset]:
        return [
            Dataset(
                id="a",
                title="Sea <b>ice</b> &amp; snow",
                description="<p>Monthly.</p><ul><li>1&deg;</li></ul>",
                keywords=("ice&nbsp;cover",),
                authors=("M&uuml;ller",),
                fields=(("Time<br>range", "1990&ndash;2000"),),
            )
        ]

    def papers(self, dataset: Dataset) -> list[object]:
        return []

    def fetch(self, paper: object) -> object:
        raise NotImplementedError


async def test_every_source_gives_datasets_without_html() -> None:
    (found,) = [d async for d in checked(Catalogue()).datasets()]
    assert isinstance(found, Dataset)
    assert found.title == "Sea ice & snow"
    assert found.description == "Monthly.\n1°"
    assert (found.keywords, found.authors) == (("ice cover",), ("Müller",))
    assert found.fields == (("Time range", "1990–2000"),)
