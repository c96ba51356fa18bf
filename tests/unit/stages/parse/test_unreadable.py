"""PDFs whose fonts do not map to Unicode text."""

from pathlib import Path

import pymupdf
import pytest

from scirgen.core.errors import PaperError
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.pdf.parser import PyMuPDFParser

SENTENCE = "The lakes of the north freeze in November and their ice leaves again in May."
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def _pdf(path: Path, text: str, font: Path | None = None) -> Path:
    with pymupdf.open() as document:
        for number in range(3):
            page = document.new_page()
            embedded = {"fontname": "F0", "fontfile": str(font)} if font else {"fontname": "helv"}
            page.insert_text((72, 72), [f"{text} {number}{line:02}" for line in range(30)], fontsize=9, **embedded)
        if font:
            for number in range(1, document.xref_length()):
                if document.xref_get_key(number, "ToUnicode")[0] != "null":
                    document.xref_set_key(number, "ToUnicode", "null")
        document.save(path)
    return path


def _code(path: Path) -> str:
    with pytest.raises(PaperError) as raised:
        PyMuPDFParser().parse(path, ParserOptions())
    return raised.value.error_code


@pytest.mark.skipif(not FONT.is_file(), reason="needs the DejaVu fonts")
def test_font_without_a_unicode_map_is_unreadable(tmp_path: Path) -> None:
    assert _code(_pdf(tmp_path / "a.pdf", SENTENCE, FONT)) == "unreadable_text"


def test_font_with_a_wrong_map_is_unreadable(tmp_path: Path) -> None:
    consonants = str.maketrans("aeiouyAEIOUY", "xzqkwvXZQKWV")
    assert _code(_pdf(tmp_path / "a.pdf", SENTENCE.translate(consonants))) == "unreadable_text"


def test_plain_text_is_readable(tmp_path: Path) -> None:
    parsed = PyMuPDFParser().parse(_pdf(tmp_path / "a.pdf", SENTENCE), ParserOptions())
    assert any(SENTENCE in b.text for b in parsed.blocks)
