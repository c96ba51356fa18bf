"""A JATS article with a short front is an article, although it has a <body>; a page of HTML with an <article> is
none."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.core.errors import PaperError
from scirgen.stages.parse.sniff import sniff


@pytest.mark.parametrize(
    "head",
    [
        '<?xml version="1.0"?>\n<article><front/><body><p>Text</p></body></article>',
        '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "x.dtd">\n<!-- a comment -->\n<article ><body/></article>',
        "<pmc-articleset><article><body/></article></pmc-articleset>",
    ],
)
def test_sniff_when_root_is_article_then_jats(tmp_path: Path, head: str) -> None:
    file = tmp_path / "paper.xml"
    file.write_text(head)
    assert sniff(file) == "jats"


def test_sniff_when_html_holds_an_article_then_not_a_paper(tmp_path: Path) -> None:
    file = tmp_path / "paper.xml"
    file.write_text("<!DOCTYPE html><html><body><article>Log in</article></body></html>")
    with pytest.raises(PaperError) as caught:
        sniff(file)
    assert caught.value.error_code == "not_a_pdf"
