"""Reads the numbers of headings: 2.1, § 3, IV., A., b., B2, II-A1., Appendix C, 三、, 第二章.

It also checks whether they follow one another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ROMAN: Final = {"I": 1, "V": 5, "X": 10}
_BEFORE_A: Final = ord("A") - 1
_HAN: Final = "一二三四五六七八九"
_APPENDIX: Final = re.compile(
    r"^(?:appendix|appendices|ap[ée]ndice|annexe?|anexo|anhang|附\s*录)\s*(?P<label>[A-H]|\d{1,2}|[IVX]{1,4})?(?=[\s.:：]|$)[.:：]?\s*",
    re.I,
)
_PATTERNS: Final = (
    (
        "arabic",
        re.compile(
            r"^(?:§\s?)?(?P<n>\d{1,2}(?:\.\d{1,2}){0,4})(?:\.(?!\d)|．|、)?(?:\s+|(?=[A-ZÀ-Þ][a-zà-ÿ]{2}|[一-鿿]))"
        ),
    ),
    ("roman_letter", re.compile(r"^(?P<n>[IVX]{1,5}[-.][A-Z](?:[-.]?\d{1,2})?)[.:)]?\s+(?=\S)")),
    ("letter_number", re.compile(r"^(?P<n>[A-H]\.?\d{1,2}(?:\.\d{1,2})*)[.:)]?\s+(?=\S)")),
    ("roman", re.compile(r"^(?P<n>[IVX]{1,5})(?:[.:)]\s*|\s+)(?=[^\W_])")),
    ("letter", re.compile(r"^(?P<n>[A-Z])[.)]\s+(?=\S)")),
    ("lower", re.compile(r"^\(?(?P<n>[a-h])[.)]\s+(?=\S)")),
    ("paren", re.compile(r"^[(（]?(?P<n>\d{1,2})[)）]\s*(?=\S)")),
    (
        "han",
        re.compile(r"^(?:第(?P<c>[一二三四五六七八九十]{1,3})[章节]|(?P<n>[一二三四五六七八九十]{1,3})[、.．])\s*"),
    ),
    ("han_paren", re.compile(r"^[(（](?P<n>[一二三四五六七八九十]{1,3})[)）]\s*")),
)
SCHEMES: Final = (
    "arabic", "roman", "letter", "lower", "paren", "roman_letter", "letter_number", "han", "han_paren", "appendix",
)  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A heading's number. ``values``: its parts, outermost first; ``length``: its number of characters in the text."""

    scheme: str
    values: tuple[int, ...]
    length: int

    @property
    def depth(self) -> int:
        """The number of its parts: 2 for "2.1"."""
        return len(self.values)


def number_of(text: str) -> list[Number]:
    """Return the numbers with which a text may begin: two if a letter may be Roman ("I.", "V.", "X."), none if it has
    no number."""
    appendix = _APPENDIX.match(text)
    if appendix:
        label = appendix.group("label") or "A"
        return [Number("appendix", (_value(label),), appendix.end())]
    found = []
    for scheme, pattern in _PATTERNS:
        match = pattern.match(text)
        if match is None:
            continue
        written = match.group("n") or match.group("c")
        values = _values(scheme, written)
        if values:
            found.append(Number(scheme, values, match.end()))
            if scheme != "roman":
                break
    return found


def in_sequence(numbers: Sequence[Sequence[Number]]) -> list[Number | None]:
    """Return for each text, in reading order, the number that continues an earlier one (2 after 1, 2.1 after 2), or
    None."""
    seen: dict[str, set[tuple[int, ...]]] = {}
    chosen: list[Number | None] = []
    for options in numbers:
        fitting = [n for n in options if _follows(n, seen.get(n.scheme, set()))]
        # "I." opens Roman numbering; after "H." it is a letter. What has more numbers before it wins.
        best = max(fitting, key=lambda n: (n.values[-1] > 1 or n.depth > 1, n.scheme == "roman"), default=None)
        if best is not None:
            if best.depth == 1 and best.values[-1] == 1 and best.scheme in ("letter", "lower", "paren", "han_paren"):
                seen[best.scheme] = set()
            seen.setdefault(best.scheme, set()).add(best.values)
        chosen.append(best)
    return chosen


def without_number(text: str) -> str:
    """Return the text without the number it begins with."""
    found = number_of(text)
    return text[found[0].length :].strip() if found else text


def _follows(number: Number, seen: set[tuple[int, ...]]) -> bool:
    *outer, last = number.values
    if (*outer, last - 1) in seen:
        return True
    return last <= 1 and (not outer or tuple(outer) in seen or number.scheme in ("roman_letter", "letter_number"))


def _values(scheme: str, written: str) -> tuple[int, ...]:
    if scheme in ("arabic", "paren"):
        return tuple(int(part) for part in written.split("."))
    if scheme in ("han", "han_paren"):
        return (_han(written),)
    if scheme in ("letter", "lower"):
        return (ord(written.upper()) - _BEFORE_A,)
    if scheme == "roman":
        return (_roman(written),) if _roman(written) else ()
    parts = re.findall(r"[IVX]+(?=[-.])|[A-Z]|\d+", written)
    return tuple(_value(part) for part in parts)


def _value(label: str) -> int:
    if label.isdigit():
        return int(label)
    return _roman(label) if len(label) > 1 else ord(label.upper()) - _BEFORE_A


def _roman(written: str) -> int:
    """Return the value of a Roman number up to 39; 0 if the text is not one."""
    values = [_ROMAN[c] for c in written.upper()]
    total = sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))
    tens, ones = divmod(total, 10)
    usual = "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]
    return total if usual == written.upper() else 0


def _han(written: str) -> int:
    if "十" not in written:
        return _HAN.index(written[-1]) + 1 if written[-1] in _HAN else 0
    tens, _, ones = written.partition("十")
    return 10 * (_HAN.index(tens) + 1 if tens and tens in _HAN else 1) + (
        _HAN.index(ones) + 1 if ones and ones in _HAN else 0
    )
