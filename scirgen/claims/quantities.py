"""Finds the numbers of a text with their signs and units, and decides whether a text states a number. Pure functions.

Understands lists ("[0.1,0.2,0.3]"), ranges ("1979-2020", "1.2 to 3.4 km"), fractions ("1/30°"), scientific notation ("3
x 10^-4", "3 × 10⁻⁴", "3.4 million"), thousands ("12,500", "1 250 000"), decimal commas ("3,5") and numbers in words
(`LanguageWording.number_words`).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from scirgen.core.text.textmatch import normalise

_ORDINARY = str.maketrans({"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "，": ",", "．": ".", "％": "%", "º": "°"})
"""One character for one character, so that offsets do not change."""

_UNIT = (
    r"m\.\s?y\.|Myr\b|Ma\b|kyr\b|ka\b|%|‰|per ?cent\b|percentage points?\b|℃|°\s?[CFNSEW]\b|°|(?:[kKMGT]?Hz|[kMG]?W|"
    r"[mnμµ]A|[kMGT]B|[mkM]?V|[kMG]?J|[mkMG]?eV|Å|[hkM]?Pa|mbar|bar"
    r"|ppmv?|ppbv?|DU|[mkμµn]?g|t|ha|mu|[kcmdμµn]?m(?:[23²³]|\^[23])?|[mμµ]?mol|[mμµ]?[lL]|K|s|h|d)(?![A-Za-z0-9_°])"
    r"|(?:milli|centi|kilo)?met(?:er|re)s?\b|(?:square |cubic )?kilomet(?:er|re)s?\b|(?:second|minute|"
    r"hour|day|week|month|year|decade|degree"
    r"|gram|kilogram|hectare|litre|liter)s?\b|min\b"
)
_WORDS_OF_SIZE: Final = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "亿": 8}
_FIGURE = re.compile(
    r"(?<![A-Za-z0-9_.])(?P<sign>(?<![\d)\]}%°])[+-]\s?(?=\d))?"
    r"(?P<digits>\d+\s?/\s?\d+(?![\d/])|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!,?\d)"
    r"|\d{1,3}(?:(?:[\u00a0\u2009\u202f]\d{3})+|(?: \d{3}){2,})(?!\d)|\d+\.\d+|\d+,\d{1,2}(?![\d,])|\d+)"
    r"(?P<power>\s?[x×*·]\s?10\s?(?:\^|\*\*)?\s?[-+]?\s?\d+|[eE][-+]?\d+(?![A-Za-z0-9_])"
    r"|\s(?:thousand|million|billion|trillion)\b|\s?[万亿])?"
    rf"(?:[ \u00a0\u2009-]?(?P<unit>{_UNIT}))?"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!,?\d)")
_SUPERSCRIPT = re.compile(r"(?<=10)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PLAIN = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_GLUED = re.compile(r"(?<=[A-Za-z_])\d+(?:\.\d+)?")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,]*\d)")
_RANGE = re.compile(r"\s?(?:-|to|and|or)\s?")
_LENGTHS: Final = {"nm": 1e-9, "μm": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "km": 1e3}
_TIMES: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "week": 604800.0}
_CALENDAR: Final = {"month": 1.0, "year": 12.0, "decade": 120.0, "ka": 12e3, "Ma": 12e6}
_MASSES: Final = {"μg": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6}
_AREAS: Final = {"cm2": 1e-4, "m2": 1.0, "ha": 1e4, "km2": 1e6}
_VOLUMES: Final = {"mL": 1e-6, "cm3": 1e-6, "L": 1e-3, "m3": 1.0, "km3": 1e9}
_PRESSURES: Final = {"Pa": 1.0, "hPa": 1e2, "mbar": 1e2, "kPa": 1e3, "bar": 1e5, "MPa": 1e6}
_POWERS: Final = {"W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9}
_FREQUENCIES: Final = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
_ENERGIES: Final = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9}
_VOLTAGES: Final = {"mV": 1e-3, "V": 1.0, "kV": 1e3}
_AMOUNTS: Final = {"μmol": 1e-6, "mmol": 1e-3, "mol": 1.0}
_SHARES: Final = {"ppb": 1e-3, "ppm": 1.0}
SCALES: Final = (
    _LENGTHS, _TIMES, _CALENDAR, _MASSES, _AREAS, _VOLUMES, _PRESSURES, _POWERS, _FREQUENCIES, _ENERGIES, _VOLTAGES,
    _AMOUNTS, _SHARES,
)  # fmt: skip
_LONG: Final = {
    "millimeter": "mm", "millimetre": "mm", "centimeter": "cm", "centimetre": "cm", "meter": "m", "metre": "m",
    "kilometer": "km", "kilometre": "km", "second": "s", "minute": "min", "hour": "h", "day": "d", "percent": "%",
    "squaremeter": "m2", "squaremetre": "m2", "squarekilometer": "km2", "squarekilometre": "km2", "cubicmeter": "m3",
    "cubicmetre": "m3", "cubickilometer": "km3", "cubickilometre": "km3", "m.y.": "Ma", "myr": "Ma", "kyr": "ka",
    "ml": "mL", "gram": "g", "kilogram": "kg", "℃": "°C", "degree": "°", "hectare": "ha", "liter": "L",
    "litre": "L", "l": "L",
}  # fmt: skip


_FIRST_YEAR, _LAST_YEAR = 1500, 2199  # whole numbers that may be years
_MAX_COUNT: Final = 20  # things that a text may list without stating their number
_LARGEST_POWER: Final = 200  # a larger power of ten is a code or an error of the text, and may exceed a float
_POWER_CHARS: Final = 4  # characters of a power with its sign; longer ones are too large
_FRACTION_PLACES: Final = 6  # digits behind the point to which a fraction is compared
_PLURAL: Final = 4  # letters of the shortest unit whose final "s" may be a plural
_TENS, _HUNDRED, _JOINED = 20, 100, 3  # least value before ones, before a power; words to what a number adds
_SAME: Final = 1e-9  # relative difference of two floats that are one number
_PERCENT, _MONTHS, _TWO_DIGITS, _HALF = 100, 12, 10, 0.5


@dataclass(frozen=True)
class Quantity:
    """A number in a text.

    Attributes:
        start, end: place of number and unit.
        digits_end: where the number ends and its unit, if any, begins.
        value: with its sign, if one is written.
        signed: whether a sign is written.
        decimals: digits after the point.
        unit: canonical ("km", "%", "°C"); "" if none follows.
        places: the place to which it is rounded: ``decimals``, or below 0 for tens and more ("3.4 million": -5).
    """

    text: str
    start: int
    end: int
    digits_end: int
    value: float
    signed: bool = False
    decimals: int = 0
    unit: str = ""
    places: int = 0

    @property
    def year(self) -> bool:
        """True if it looks like a year."""
        return (
            not self.unit
            and not self.decimals
            and not self.signed
            and _FIRST_YEAR <= self.value <= _LAST_YEAR
            and "," not in self.text
        )

    @property
    def count(self) -> bool:
        """True if it may be a count of things that the text lists: a whole number up to 20 without sign or unit."""
        return (
            not self.unit
            and not self.decimals
            and not self.signed
            and self.value <= _MAX_COUNT
            and self.value == int(self.value)
        )


@lru_cache(maxsize=2048)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers written in digits, in order."""
    found: list[Quantity] = []
    plain = _SUPERSCRIPT.sub(lambda m: m.group().translate(_PLAIN), text).translate(_ORDINARY)
    for match in _FIGURE.finditer(plain):
        value, decimals = _value(match["digits"])
        if value is None:
            continue
        places = decimals
        if match["power"]:
            power = _power(match["power"])
            if abs(power) > _LARGEST_POWER:
                continue
            value *= 10.0**power
            if match["power"].strip() in _WORDS_OF_SIZE:
                places -= power
                decimals = max(0, places)
        signed = match["sign"] is not None
        if signed and match["sign"].strip() == "-":
            value = -value
        end = match.end()
        digits_end = match.end("power") if match["power"] else match.end("digits")
        found.append(
            Quantity(
                text[match.start() : end],
                match.start(),
                end,
                digits_end,
                value,
                signed,
                decimals,
                _unit(match["unit"] or ""),
                places,
            )
        )
    # In "1.2 to 3.4 km" the first number has the unit of the second.
    for i in range(len(found) - 2, -1, -1):
        one, other = found[i], found[i + 1]
        if not one.unit and other.unit and not one.year and _RANGE.fullmatch(plain[one.end : other.start]):
            found[i] = replace(one, unit=other.unit)
    return tuple(found)


def _power(written: str) -> int:
    size = _WORDS_OF_SIZE.get(written.strip())
    if size is not None:
        return size
    power = re.sub(r"[^\d+-]", "", re.sub(r"^\s?[x×*·]\s?10", "", written))
    return int(power) if len(power) <= _POWER_CHARS else _LARGEST_POWER + 1


def _value(digits: str) -> tuple[float | None, int]:
    digits = re.sub(r"\s", "" if "/" in digits else ",", digits)
    if "/" in digits:
        over, under = digits.split("/")
        return (float(over) / float(under), _FRACTION_PLACES) if float(under) else (None, 0)
    plain = digits.replace(",", "") if _THOUSANDS.fullmatch(digits) else digits.replace(",", ".")
    return float(plain), len(plain.partition(".")[2])


_POWER_OF_UNIT = str.maketrans({"µ": "μ", "²": "2", "³": "3", "^": ""})


def _unit(written: str) -> str:
    unit = written.strip().translate(_POWER_OF_UNIT).replace(" ", "")
    plain = unit.lower()
    plain = plain[:-1] if len(plain) >= _PLURAL and plain.endswith("s") else plain
    return _LONG.get(plain, _LONG.get(unit, plain if len(plain) >= _PLURAL else unit))


_CELL = re.compile(
    r"(?P<number>[-+]?\s?\(?.+?\)?)(?:\s?±.*|\s?[(\[][^()\[\]]*[)\]])?(?P<marks>[\s*†‡§#]*|\s?\^?[a-z]{1,3})"
)
"""A number with what tables print behind it: a deviation, an interval, marks of significance or of notes."""
_IN_BRACKETS = re.compile(
    r"[(\[](?:in )?([^()\[\]]{1,24})[)\]][\s*†‡a-d]*$|,\s([^\s,]{1,12})$|(%)(?!\)? ?[(\[<>≤≥~+−–.-]*\s?\d)"
)
_POWERED = re.compile(r"(?:\^?[-−–]?\d|[⁻⁺]?[¹²³⁴])*")


def cell_quantity(text: str, headers: Sequence[str] = ()) -> Quantity | None:
    """Return the one number of a table's cell, with its unit, else its headers' unit; None if it is not one number.

    A deviation or an interval behind it ("3.1 ± 0.2", "3.1 (2.9-3.3)") and marks ("3.1**", "3.1a") do not count.

    Args:
        text: the cell.
        headers: the texts that head it, outermost first; the last one with a unit counts.
    """
    match = _CELL.fullmatch(text.strip())
    for written in (text.strip(), match["number"] if match else ""):
        found = quantities(written)
        if len(found) == 1 and not (written[: found[0].start] + written[found[0].end :]).strip():
            break
    else:
        return None
    number = found[0]
    unit = number.unit or next((u for u in map(header_unit, reversed(headers)) if u), "")
    return replace(number, unit=unit)


def header_unit(header: str) -> str:
    """Return the unit that a header states at its end, in brackets or after a comma: "%", "mm", or as written, "g C m−2
    yr−1"; "" if it states none."""
    for match in reversed(list(_IN_BRACKETS.finditer(header.strip()))):
        written = next(g for g in match.groups() if g).strip()
        if re.fullmatch(_UNIT, written):
            return _unit(written)
        parts = [_POWERED.sub("", part) for part in re.split(r"[\s/·.×*]+", written)]
        if any(re.fullmatch(_UNIT, part) for part in parts) and all(re.fullmatch(r"[^\W\d]{0,5}|%", p) for p in parts):
            return written
    return ""


@dataclass(frozen=True)
class Stated:
    """The numbers that a text states; see `stated`."""

    found: tuple[Quantity, ...]
    values: frozenset[float]

    def joined(self, other: Stated) -> Stated:
        """Join the numbers of two texts."""
        return Stated(self.found + other.found, self.values | other.values)

    def holds(self, claimed: Quantity) -> bool:
        """Return whether the text states the claimed number: the same, rounded, in another unit, or without its sign.

        A sign said in words ("lowered by 1.55 %" for -1.55 %) counts; an opposite written sign does not.
        """
        return (
            any(_same(claimed, known) for known in self.found)
            or any(_rounds(abs(claimed.value), value, claimed.places) for value in self.values)
            or (
                claimed.unit == "%"
                and any(_rounds(abs(claimed.value), _PERCENT * v, claimed.places) for v in self.values if 0 < v < 1)
            )
            or self._spans(claimed)
        )

    def _spans(self, claimed: Quantity) -> bool:
        """Return whether it is the time between two stated years, with or without the last one: "17 years" of 1998 to
        2014."""
        months = {"year": _MONTHS, "month": 1}.get(claimed.unit)
        years = sorted({q.value for q in self.found if q.year}) if months else []
        gaps = {b - a for a, b in itertools.combinations(years, 2)}
        return any(claimed.value * (months or 0) in (_MONTHS * gap, _MONTHS * (gap + 1)) for gap in gaps)


@lru_cache(maxsize=512)
def _stated(text: str, words: tuple[tuple[str, float], ...]) -> Stated:
    found = quantities(text)
    values = set(_in_words(text, dict(words)))
    # "Ts_40 cm", "1:10 000"
    values.update(float(n) for n in _GLUED.findall(text))
    values.update(float(n.replace(" ", "")) for n in _SPACED.findall(text))
    # "3,5" may be a decimal or a list, and "1/30" also states 1 and 30; "2,400" is a list only in brackets.
    several = (q for q in found if re.search(r"[/,]|\d\s\d", q.text))
    listed = (q for q in several if text[max(q.start - 1, 0)] in "[({" or not _THOUSANDS.match(q.text))
    values.update(float(n) for q in listed for n in re.findall(r"\d+(?:\.\d+)?", q.text))
    return Stated(found, frozenset(values))


def stated(text: str, number_words: Mapping[str, float] | None = None) -> Stated:
    """Return the numbers that a text states, in digits or in the language's words."""
    return _stated(text, tuple((number_words or {}).items()))


def _in_words(text: str, number_words: Mapping[str, float]) -> Iterator[float]:
    """Yield the numbers said in words: each word's, and those of "ninety-nine", "two hundred" and "four and a half"."""
    runs = re.findall(r"\w+", normalise(text))
    values = {word.lower(): value for word, value in number_words.items()}
    yield from (value for word, value in values.items() if not word.isalnum() and _stands(word, text))
    known = [(at, values[run]) for at, run in enumerate(runs) if run in values]
    for (at, value), (next_at, following) in itertools.zip_longest(known, known[1:], fillvalue=(-1, 0.0)):
        yield value
        if next_at == at + 1 and following >= _HUNDRED > value:
            hundreds = value * following
            yield hundreds
            # "two hundred and fifty-three"
            yield from itertools.accumulate(
                (v for i, v in known if next_at < i <= next_at + _JOINED and 1 <= v < _HUNDRED), initial=hundreds
            )
        elif (next_at == at + 1 and _TENS <= value < _HUNDRED and 1 <= following < _TWO_DIGITS) or (
            at < next_at <= at + _JOINED and following == _HALF and value >= 1
        ):
            yield value + following


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def missing(claims: Iterable[Quantity], support: Stated) -> list[Quantity]:
    """Return the claimed numbers that the text does not state."""
    return [q for q in claims if not support.holds(q)]


def _same(claimed: Quantity, known: Quantity) -> bool:
    if claimed.signed and known.signed and claimed.value * known.value < 0:
        return False
    one, other = abs(claimed.value), abs(known.value)
    for scale in SCALES:
        if claimed.unit in scale and known.unit in scale and claimed.unit != known.unit:
            return _rounds(one, other * scale[known.unit] / scale[claimed.unit], claimed.places)
    if _rounds(one, other, claimed.places):
        return True
    if claimed.unit == "%" and not known.unit and _rounds(one, other * _PERCENT, claimed.places):
        return True
    return bool(known.unit == "%" and not claimed.unit and _rounds(one, other / _PERCENT, claimed.places))


def _rounds(claimed: float, known: float, decimals: int) -> bool:
    if math.isclose(claimed, known, rel_tol=_SAME):
        return True
    # Rounding counts where two digits are left, and not where 4 stands for 3.6 by chance of size.
    return max(claimed, claimed * 10.0**decimals) >= _TWO_DIGITS and abs(claimed - known) <= _HALF * 10.0**-decimals
