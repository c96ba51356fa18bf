from collections.abc import Sequence

from scirgen_pdf.page.linenumbers import without_line_numbers
from scirgen_pdf.reading.page import Span, TextLine


def _line(text: str, x0: float, y: float, x1: float | None = None) -> TextLine:
    right = x1 if x1 is not None else x0 + 5.0 * len(text)
    box = (x0, y, right, y + 10)
    return TextLine([Span(text, "F", 10.0, box, (x0, y + 8))], box)


def _page(numbers: list[tuple[int, float]], x: float, texts: list[str], left: float = 72.0) -> list[TextLine]:
    lines = [_line(t, left, 60 + 14.0 * i, left + 400) for i, t in enumerate(texts)]
    return lines + [_line(str(n), x, y) for n, y in numbers]


def _texts(pages: Sequence[Sequence[TextLine]]) -> list[str]:
    return [span.text for lines in pages for line in lines for span in line.spans]


PROSE = [f"Sentence number {i} of a page, which runs over the whole width" for i in range(40)]


def test_number_at_each_line_left_of_the_text_is_removed() -> None:
    page = _page([(i + 1, 60 + 14.0 * i) for i in range(40)], 40, PROSE)
    assert _texts(without_line_numbers([page])) == PROSE


def test_a_number_behind_control_characters_does_not_end_a_parse() -> None:
    page = _page([], 40, [*PROSE[:5], "\x1d\x1c2", *PROSE[5:]])
    assert _texts(without_line_numbers([page])) == _texts([page])


def test_number_at_each_fifth_line_on_the_right_is_removed() -> None:
    pages = [_page([(5 * i + 40 * p, 60 + 70.0 * i) for i in range(1, 8)], 500, PROSE) for p in range(2)]
    assert _texts(without_line_numbers(pages)) == PROSE * 2


def test_number_within_the_text_is_kept_whatever_its_value() -> None:
    texts = [*PROSE[:5], "45", "days of rain", *PROSE[5:]]
    page = _page([(i + 1, 60 + 14.0 * i) for i in range(40)], 40, texts)
    assert "45" in _texts(without_line_numbers([page]))


def test_column_of_a_table_is_not_line_numbers() -> None:
    page = _page([(i + 1, 300 + 14.0 * i) for i in range(12)], 200, PROSE[:15])
    cells = [_line(f"Site {c}", 260, 300 + 14.0 * i) for i, c in enumerate("ABCDEFGHIJKL")]
    page += cells
    assert sum(t.isdigit() for t in _texts(without_line_numbers([page]))) == 12


def test_number_glued_to_its_line_is_cut_off() -> None:
    texts = [f"{i + 1} {t}" for i, t in enumerate(PROSE)]
    numbered = _page([(i + 1, 60 + 14.0 * i) for i in range(40)], 40, PROSE)
    glued = [_line(t, 40, 60 + 14.0 * i, 472) for i, t in enumerate(texts)]
    assert _texts(without_line_numbers([numbered, glued])) == PROSE * 2


def test_header_and_footer_across_the_numbers_do_not_keep_them() -> None:
    page = _page([(i + 1, 60 + 14.0 * i) for i in range(40)], 150, PROSE, left=170.0)
    furniture = [_line("A header that runs over the numbers and much of the page " * 3, 40, y, 560) for y in (20, 700)]
    page += furniture * 3
    assert not any(t.isdigit() for t in _texts(without_line_numbers([page])))
