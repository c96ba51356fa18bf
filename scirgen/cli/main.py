"""The ``scirgen`` command: lazy subcommands, and one place where errors become messages and exit codes.

Exit codes: 0 success; 1 error; 2 wrong input or settings; 3 partial (some items failed, run again to retry them);
4 stopped at a budget; 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import TYPE_CHECKING, Any

import click

from scirgen.core import __version__
from scirgen.core.errors import PluginError, ScirgenError
from scirgen.core.grouped import grouped

if TYPE_CHECKING:
    from scirgen.core.registry import Registry

# name -> (module:attribute, one line for --help); a module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "generate": ("scirgen.cli.run.generate:generate", "Make a dataset from records and papers."),
    "status": ("scirgen.cli.run.status:status", "Show a run stage by stage."),
    "profile": ("scirgen.cli.run.pages:profile", "Show what the papers of a dataset say about it."),
    "inspect": ("scirgen.cli.run.inspect:inspect", "Show where one row of a run came from."),
    "report": ("scirgen.cli.run.pages:report", "Regenerate a run's report.html."),
    "doctor": ("scirgen.cli.run.doctor:doctor", "Check a run's store and repair a damaged one."),
}


def plugin_commands() -> dict[str, tuple[str, str]]:
    """Return the commands of plugins: name -> (plugin's name, summary). A name of two words is a subcommand or
    option."""
    return _registry().summaries("command")


def _plugin_command(name: str) -> Any:
    return _registry().get("command", name)


def _registry() -> Registry:
    from scirgen.core.registry import load_registry

    return load_registry()


def _extended(command: click.Command, name: str) -> click.Command:
    """Return the command with the subcommands and options that plugins add to it."""
    for added in plugin_commands():
        owner, _, rest = added.partition(" ")
        if owner != name or not rest:
            continue
        try:
            found = _plugin_command(added)
        except PluginError as error:
            _registry().broken[added] = error
            continue
        if isinstance(found, click.Option) and found.name not in {p.name for p in command.params}:
            command.params.append(found)
        elif isinstance(found, click.Command) and isinstance(command, click.Group):
            command.add_command(found, rest)
    return command


class LazyGroup(click.Group):
    """A group that imports a command only when it is used, so --help stays fast.

    Plugins add commands (docs/plugins.md).
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table above, then those of plugins."""
        return [*COMMANDS, *(name for name in plugin_commands() if " " not in name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
        elif cmd_name in plugin_commands():
            command = _plugin_command(cmd_name)
        else:
            return None
        return _extended(command, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command as click does, with "did you mean" for an unknown one."""
        if args and not args[0].startswith("-") and args[0] not in (known := self.list_commands(ctx)):
            from scirgen.core.registry import suggest

            ctx.fail(f"No such command {args[0]!r}. {suggest(args[0], known)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command as click does, but exit with 130 instead of 1 after an interrupt."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            ctx.exit(130)
        finally:
            for fault in _registry().broken.values():
                click.echo(f"warning: {fault.message}", err=True)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
        added = grouped((p, (name, text)) for name, (p, text) in plugin_commands().items() if " " not in name)
        for plugin, rows in added.items():
            with formatter.section(f"Commands of {plugin}"):
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="scirgen")
def cli() -> None:
    """Make a retrieval and question-answering dataset for your field of science."""


def main() -> None:
    """Run the command (entry point); print a `ScirgenError` as one message with a hint and exit with its code."""
    gc.set_threshold(20_000, 20, 50)  # with Python's 700, searches for garbage take a twentieth of a command's start
    try:
        cli(standalone_mode=True)
    except ScirgenError as error:
        click.echo(f"error [{error.error_code}]: {error.message}", err=True)
        if error.hint:
            click.echo(f"  hint: {error.hint}", err=True)
        sys.exit(error.exit_status)
