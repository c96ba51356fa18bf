from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from scirgen.cli.main import LazyGroup
from scirgen.testing import __main__ as fake
from scirgen.testing import serving


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interrupted_command_ends_with_130(
    interruption: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def status() -> None:
        raise interruption

    monkeypatch.setattr(LazyGroup, "get_command", lambda self, ctx, name: status)
    result = CliRunner().invoke(LazyGroup("scirgen"), ["status"])
    assert result.exit_code == 130 and "interrupted" in result.stderr


def test_a_fake_server_on_a_port_in_use_is_one_line() -> None:
    with serving() as model:
        port = model.rpartition(":")[2].partition("/")[0]
        result = CliRunner().invoke(fake.main, ["serve", "--port", port])
    assert result.exit_code == 1 and f"cannot listen on 127.0.0.1:{port}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
