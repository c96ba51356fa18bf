"""Computes the lengths of time between the dates of a text, since an answer may state a period as its length. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?"
)
_DATE = re.compile(
    r"\b(?P<y0>\d{4})[-/.](?P<m0>\d{1,2})[-/.](?P<d0>\d{1,2})(?!\d)"
    rf"|\b(?P<m1>{_NAME})\.?\s(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s(?:in\s)?(?P<y1>\d{{4}}))?"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s(?P<m2>{_NAME})\b\.?(?:,?\s(?:in\s)?(?P<y2>\d{{4}}))?"
)
_FAR = 3
"""Both ends of a period are among so many neighbouring dates."""
_DAYS_OF_A_MONTH = 365.25 / 12


def periods(text: str) -> Iterator[tuple[int, str]]:
    """How many days ("d", with and without the last one) and whole months ("month") lie between neighbouring dates.

    "From 1 May to 31 December" gives 244 and 245 days and 8 months. A date without a year has that of the next date.
    """
    found = [m.groupdict() for m in _DATE.finditer(text)]
    for at, one in enumerate(found):
        for other in found[at + 1 : at + _FAR]:
            last = _date(other, None)
            first = _date(one, last)
            if first and last and first < last:
                days = (last - first).days
                yield from ((days, "d"), (days + 1, "d"), (round(days / _DAYS_OF_A_MONTH), "month"))


def _date(found: dict[str, str | None], end: date | None) -> date | None:
    """The day that a match names, without a year in the year of ``end`` or else in one that is not a leap year. None
    for 31 June."""
    year, month, day = (found[f"{key}0"] or found[f"{key}1"] or found.get(f"{key}2") for key in "ymd")
    if month is None or day is None:
        return None
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    try:
        return date(int(year) if year else end.year if end else 2001, number, int(day))
    except ValueError:
        return None
