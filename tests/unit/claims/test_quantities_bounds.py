"""Numbers in texts from outside: a power that no float holds is passed over, the others are read."""

from __future__ import annotations

from scirgen.claims.quantities import quantities


def test_a_power_beyond_any_float_is_passed_over_and_the_rest_is_read() -> None:
    assert [q.value for q in quantities("code 5e99999, 7e999 and 1e-400000, then 2 x 10^3 m")] == [2000.0]
