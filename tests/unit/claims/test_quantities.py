from __future__ import annotations

import pytest

from scirgen.claims.quantities import missing, quantities, stated

WORDS = {"three": 3.0, "half": 0.5}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("thresholds of [0.1,0.2,0.3]", [0.1, 0.2, 0.3]),
        ("from 1979-2020", [1979, 2020]),
        ("–1.55% for forbs, + 5.67 % for sedges", [-1.55, 5.67]),
        ("at 1 / 30 °", [1 / 30]),
        ("3 x 10^-4 m and 2e3 Pa", [3e-4, 2000]),
        ("12,500 km2 and 3,5 m", [12500, 3.5]),
        ("a 2-meter mast with a CSAT3", [2]),
    ],
)
def test_quantities_reads_numbers_as_science_writes_them(text: str, values: list[float]) -> None:
    assert [q.value for q in quantities(text)] == pytest.approx(values)


def test_quantities_keeps_places_and_units() -> None:
    text = "It fell by 1.55 % over 17 cm."
    assert [(text[q.start : q.digits_end], q.unit) for q in quantities(text)] == [("1.55", "%"), ("17", "cm")]


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        ("lower it by 1.55 %", "a change of –1.55%"),
        ("17 cm", "a separation of 0.17 m"),
        ("10 minutes", "every 600 s"),
        ("1556 m", "an elevation of 1556.06 m"),
        ("30 %", "a cloud fraction of 0.3"),
        ("1/30°", "resolution of  1 / 30 ° and"),
        ("2020", "from 1979-2020"),
        ("3 networks", "three networks"),
        ("0.2", "[0.1,0.2,0.3]"),
        ("43 years", "from 1979 to 2022"),
        ("17 years", "yearly (1998–2014)"),
        ("1.2 to 3.45 km", "1200-3450 m a.s.l."),
        ("0.00012 m2/s", "1.2 × 10⁻⁴ m² s⁻¹"),
        ("About 3.4 million reads", "3.4e6 reads"),
        ("3.4 million", "3,412,000 reads"),
        ("1.25 million records", "1 250 000 records"),
        ("0.09 ha", "30 m x 30 m (900 m2)"),
        ("101.3 kPa", "1013 hPa"),
        ("about 26,000 square kilometres", "2.6 x 10^4 km2"),
        ("200", "a row of 100 200 300"),
    ],
)
def test_a_number_said_in_another_way_is_stated(claim: str, support: str) -> None:
    assert missing(quantities(claim), stated(support, WORDS)) == []


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        ("7.37 %", "by 5.67%"),
        ("+1.55 %", "a change of –1.55%"),
        ("0.17 cm", "0.17 m apart"),
        ("1 / 10 °", "1 / 30 °"),
        ("4", "3.6 on average"),
        ("3.9 million reads", "3.4e6 reads"),
        ("0.0012 m2/s", "1.2 × 10⁻⁴ m² s⁻¹"),
        ("0.9 ha", "900 m2"),
        ("1.2 to 3.9 km", "1200-3450 m"),
        ("1998 to 2016", "(1998–2014)"),
    ],
)
def test_another_number_is_missing(claim: str, support: str) -> None:
    assert missing(quantities(claim), stated(support, WORDS))


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        ("65 years", "hourly data, 0.1°, 1951-2015"),
        ("40cm", "soil temperature (Ts_2 cm, Ts_40 cm)"),
        ("1:10,000", "national 1:10 000 topographic mapping"),
        ("a threshold of 200,000, in all", "set to 200,000 cells"),
        ("1.4 GHz", "operates at 1.413 GHz"),
        ("0.0071 m", "the first layer: 0.00710063521m"),
        ("99 lakes", "Ninety-nine new lakes appeared"),
        ("4.5 years", "Measurements of four and a half years"),
        ("200 sites", "two hundred sites"),
        ("6 months", "over 0.5 years"),
        ("two decades, or 20 years", "2 decades"),
        ("500,000 t", "储量约50万t"),
        ("56 million years", "for the past ~56 m.y. show"),
        ("15 million years", "since 15 Ma due to"),
        ("33 %", "one-third of the area"),
        ("5 types of data", "ﬁve types"),
        ("250 sites", "two hundred and fifty sites"),
        ("192 months", "1998 to 2014"),
        ("204 months", "1998 to 2014"),
        ("1413 MHz", "operates at 1.413 GHz"),
        ("2.5 V", "at 2500 mV"),
        ("1.2 ppm", "1200 ppb of methane"),
    ],
)
def test_a_number_in_another_notation_is_stated(claim: str, support: str) -> None:
    words = {
        **WORDS,
        "ninety": 90.0,
        "nine": 9.0,
        "four": 4.0,
        "two": 2.0,
        "hundred": 100.0,
        "five": 5.0,
        "fifty": 50.0,
        "third": 1 / 3,
    }
    assert missing(quantities(claim), stated(support, words)) == []


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        ("30 years", "hourly data, 1951-2015"),
        ("1.5 GHz", "operates at 1.413 GHz"),
        ("1:25,000", "national 1:10 000 topographic mapping"),
        ("98 lakes", "Ninety-nine new lakes appeared"),
        ("5 months", "over 0.5 years"),
        ("between 75.5 and 89", "75.5 E - 14 E"),
        ("20 minutes", "half-hourly fluxes"),
        ("48 hours", "daily values"),
        ("65 million years", "for the past ~56 m.y. show"),
        ("43 %", "one-third of the area"),
        ("29,000 grid points", "200 east-west and 140 north-south"),
        ("300 years", "0.35-0.1 ka BP"),
        ("nearly 60 years", "from the 1970s to 2022"),
        ("96 a day", "averages of 10 min"),
        ("910 were left out", "224,142 answered, of which 215,041 had all values"),
        ("16 months", "1998 to 2014"),
        ("16 decades", "1998 to 2014"),
        ("50 kHz", "at 50 Hz"),
    ],
)
def test_another_number_in_another_notation_is_missing(claim: str, support: str) -> None:
    words = {**WORDS, "ninety": 90.0, "nine": 9.0, "four": 4.0, "third": 1 / 3}
    assert missing(quantities(claim), stated(support, words))
