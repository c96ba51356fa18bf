import pytest

from scirgen_pdf.page.characters import composed


@pytest.mark.parametrize(
    ("drawn", "meant"),
    [
        ("energ´ıa", "energía"),
        ("tama˜no", "tamaño"),
        ("Rodr´ıguez", "Rodríguez"),
        ("INTRODUCCI ´ON", "INTRODUCCIÓN"),
        ("EL ´AREA", "EL ÁREA"),
        ("convertidor ´Cuk", "convertidor Ćuk"),
        ("Jose´ Luis", "José Luis"),
        ("Franc¸ois", "François"),
        ("na¨ıve", "naïve"),
        ("cafe\u0301", "café"),
    ],
)
def test_accent_beside_its_letter_is_put_on_it(drawn: str, meant: str) -> None:
    assert composed(drawn) == meant


@pytest.mark.parametrize("text", ["x ˆ y", "2 ´", "5´ to 3´", "plain words"])
def test_accent_without_a_letter_is_left_alone(text: str) -> None:
    assert composed(text) == text
