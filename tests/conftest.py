"""Tests reach this machine only: a connection to any other address is an error. None fails because the machine is busy."""

from __future__ import annotations

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine's load, and nothing about the code.
settings.register_profile("scirgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("scirgen")


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
