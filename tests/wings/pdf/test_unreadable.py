"""PDFs whose fonts do not map to Unicode text."""

from pathlib import Path

import pymupdf
import pytest

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.parser import PdfParser

SENTENCE = "The lakes of the north freeze in November and their ice leaves again in May."
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def _pdf(path: Path, text: str, font: Path | None = None, size: float = 9) -> Path:
    with pymupdf.open() as document:
        for number in range(3):
            page = document.new_page()
            embedded = {"fontname": "F0", "fontfile": str(font)} if font else {"fontname": "helv"}
            page.insert_text((72, 72), [f"{text} {number}{line:02}" for line in range(30)], fontsize=size, **embedded)
        if font:
            for number in range(1, document.xref_length()):
                if document.xref_get_key(number, "ToUnicode")[0] != "null":
                    document.xref_set_key(number, "ToUnicode", "null")
        document.save(path)
    return path


def _code(path: Path) -> str:
    with pytest.raises(PaperError) as raised:
        PdfParser().parse(path, ParserOptions())
    return raised.value.error_code


def test_type_that_is_drawn_larger_than_it_says_is_unreadable(tmp_path: Path) -> None:
    assert _code(_pdf(tmp_path / "a.pdf", SENTENCE, size=0.12)) == "unreadable_text"


@pytest.mark.skipif(not FONT.is_file(), reason="needs the DejaVu fonts")
def test_font_without_a_unicode_map_is_unreadable(tmp_path: Path) -> None:
    assert _code(_pdf(tmp_path / "a.pdf", SENTENCE, FONT)) == "unreadable_text"


def test_font_with_a_wrong_map_is_unreadable(tmp_path: Path) -> None:
    consonants = str.maketrans("aeiouyAEIOUY", "xzqkwvXZQKWV")
    assert _code(_pdf(tmp_path / "a.pdf", SENTENCE.translate(consonants))) == "unreadable_text"


def test_plain_text_is_readable(tmp_path: Path) -> None:
    parsed = PdfParser().parse(_pdf(tmp_path / "a.pdf", SENTENCE), ParserOptions())
    assert any(SENTENCE in b.text for b in parsed.blocks)


ARABIC = "تساقط الثلوج في الوادي العلوي خلال الشتاء وذابت متأخرة وغذت النهر حتى شهر يوليو عام 2019. "
HEBREW = "השלג שירד בעמק העליון בחורף של אותה שנה נמס מאוחר והזין את הנהר עד יולי 2019. "


def _story(path: Path, *paragraphs: str) -> Path:
    story = pymupdf.Story("".join(f"<p>{text}</p>" for text in paragraphs))
    writer = pymupdf.DocumentWriter(str(path))
    device = writer.begin_page(pymupdf.paper_rect("a4"))
    story.place(pymupdf.Rect(60, 60, 535, 780))
    story.draw(device)
    writer.end_page()
    writer.close()
    return path


@pytest.mark.parametrize("text", [ARABIC, HEBREW])
def test_right_to_left_paper_is_unreadable(tmp_path: Path, text: str) -> None:
    assert _code(_story(tmp_path / "a.pdf", *[text * 5] * 3)) == "unreadable_text"


@pytest.mark.parametrize("text", [ARABIC, HEBREW])
def test_right_to_left_passage_of_another_paper_is_not_prose(tmp_path: Path, text: str) -> None:
    path = _story(tmp_path / "a.pdf", *[f"{SENTENCE} " * 6] * 4, text * 2, f"{SENTENCE} " * 6)
    kinds = {b.kind for b in PdfParser().parse(path, ParserOptions()).blocks if not b.text.isascii()}
    assert kinds == {BlockKind.OTHER}
