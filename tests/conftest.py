"""No test fails because the machine is busy, or because data outside the repository are missing."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.support.realdata import realdata as realdata

# How long an example takes says something about the machine's load, and nothing about the code.
settings.register_profile("scirgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("scirgen")
