"""Tests reach this machine only: a connection to any other address is an error."""

from __future__ import annotations

import pytest
import pytest_socket


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
