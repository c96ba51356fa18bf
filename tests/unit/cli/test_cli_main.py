from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from scirgen.cli.main import LazyGroup


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
