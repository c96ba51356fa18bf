"""Computes the lengths of time between the dates of a text, since an answer may state a period as its length. Pure
functions."""

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
_Match = dict[str, str | None]
_NO_LEAP_YEAR = 2001
_FAR = 3
"""Both ends of a period are among so many neighbouring dates."""
_DAYS_OF_A_MONTH = 365.25 / 12


def periods(text: str) -> Iterator[tuple[int, str]]:
    """Counts the days ("d", with and without the last one) and whole months ("month") between neighbouring dates.

    "From 1 May to 31 December" gives 244 and 245 days and 8 months. A date without a year has the year
    that makes it the nearest one to the date that has one: "1 November to 31 March 2010" begins in 2009.
    """
    found = [m.groupdict() for m in _DATE.finditer(text)]
    for at, one in enumerate(found):
        for other in found[at + 1 : at + _FAR]:
            first, last = _dates(one, other)
            if first and last and first < last:
                days = (last - first).days
                yield from ((days, "d"), (days + 1, "d"), (round(days / _DAYS_OF_A_MONTH), "month"))


def _dates(one: _Match, other: _Match) -> tuple[date | None, date | None]:
    """Both days, the second not before the first where one of them has no year."""
    years = [_part(found, "y") for found in (one, other)]
    known = int(years[0] or years[1] or _NO_LEAP_YEAR)
    first, last = _date(one, known), _date(other, known)
    if first and last and first > last and not years[0]:
        first = _date(one, known - 1)
    elif first and last and first > last and not years[1]:
        last = _date(other, known + 1)
    return first, last


def _part(found: _Match, key: str) -> str | None:
    return found[f"{key}0"] or found[f"{key}1"] or found[f"{key}2"]


def _date(found: _Match, usual: int) -> date | None:
    """The day that a match names, in the year ``usual`` if it has none; None for 31 June."""
    year, month, day = (_part(found, key) for key in "ymd")
    if month is None or day is None:
        return None
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    try:
        return date(int(year or usual), number, int(day))
    except ValueError:
        return None
