"""The small catalogue of the tests of collecting."""

from __future__ import annotations

from tests.unit.stages.collect.conftest import catalogue as catalogue
