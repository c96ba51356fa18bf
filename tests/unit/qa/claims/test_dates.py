from __future__ import annotations

import pytest

from scirgen.claims.dates import periods


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from May 1 in 2019 to December 31 in 2019", {(244, "d"), (245, "d"), (8, "month")}),
        ("from 1 June to 17 September, 2012", {(108, "d"), (109, "d"), (4, "month")}),
        ("2012-06-25 to 2012-07-24", {(29, "d"), (30, "d"), (1, "month")}),
        ("from 1 May 2003 to 31 December", {(244, "d"), (245, "d"), (8, "month")}),
        ("from 1 November to 31 March 2010", {(150, "d"), (151, "d"), (5, "month")}),
        ("on Feb. 28 and on 31 February, 2010", set()),
        ("from 31 December 2012 back to 1 May 2012", set()),
        ("He may 5 times in 2019", set()),
    ],
)
def test_periods_are_the_lengths_between_two_dates(text: str, found: set[tuple[int, str]]) -> None:
    assert set(periods(text)) == found
