import pytest

from scirgen_pdf.headings.numbering import in_sequence, number_of, without_number


@pytest.mark.parametrize(
    ("text", "scheme", "values"),
    [
        ("2.1 Study area", "arabic", (2, 1)),
        ("§ 3. Doppler", "arabic", (3,)),
        ("IV. RESULTS", "roman", (4,)),
        ("B. Sampling", "letter", (2,)),
        ("a. Reliability", "lower", (1,)),
        ("II-A1. Durante ton", "roman_letter", (2, 1, 1)),
        ("B2 Spatial derivative", "letter_number", (2, 2)),
        ("Appendix C: Proofs", "appendix", (3,)),
        ("三、模型建立", "han", (3,)),
        ("第二章 数据", "han", (2,)),
        ("（十二）小结", "han_paren", (12,)),
    ],
)
def test_number_is_read_in_each_scheme(text: str, scheme: str, values: tuple[int, ...]) -> None:
    assert (number_of(text)[0].scheme, number_of(text)[0].values) == (scheme, values)


@pytest.mark.parametrize("text", ["3D results by angle", "X-ray diffraction", "Introduction", "2023 was dry"])
def test_text_that_begins_like_a_number_has_none(text: str) -> None:
    assert number_of(text) == [] and without_number(text) == text


def test_letter_after_others_is_not_roman() -> None:
    texts = [f"{c}. Part" for c in "ABCDEFGHI"]
    assert [n.scheme for n in in_sequence([number_of(t) for t in texts]) if n] == ["letter"] * 9


def test_roman_numbers_run_from_the_first() -> None:
    texts = [f"{c}. Part" for c in ("I", "II", "III", "IV", "V")]
    assert [n.values for n in in_sequence([number_of(t) for t in texts]) if n] == [(1,), (2,), (3,), (4,), (5,)]


def test_number_out_of_sequence_is_none() -> None:
    chosen = in_sequence([number_of(t) for t in ("1 Introduction", "7 samples were lost", "2 Methods", "2.1 Data")])
    assert [n.values if n else None for n in chosen] == [(1,), None, (2,), (2, 1)]
