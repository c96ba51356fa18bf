"""The ``scirgen`` command: lazy subcommands, and one place where errors become messages and exit codes.

Exit codes: 0 success; 1 error; 2 wrong input or settings; 3 partial (some items failed, run again to retry them);
4 stopped at a budget; 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import Any

import click

from scirgen.core.errors import ScirgenError
from scirgen.core.version import __version__

# name -> (module:attribute, one line for --help); a module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "generate": ("scirgen.cli.run.generate:generate", "Make a dataset from records and papers."),
    "estimate": (
        "scirgen.cli.run.estimate:estimate",
        "Predict calls, tokens, cost and hours of a run.",
    ),
    "merge": ("scirgen.cli.run.merge:merge", "Make one release from several runs."),
    "status": ("scirgen.cli.run.status:status", "Show a run stage by stage."),
    "profile": ("scirgen.cli.run.profile:profile", "Show what the papers of a dataset say about it."),
    "inspect": ("scirgen.cli.run.inspect:inspect", "Show where one row of a run came from."),
    "report": ("scirgen.cli.run.report:report", "Regenerate a run's report.html."),
    "doctor": ("scirgen.cli.run.doctor:doctor", "Check a run's store and repair a damaged one."),
    "audit": ("scirgen.cli.measure.audit:audit", "Find defects in any question-answer set."),
    "gates": ("scirgen.cli.adapt.gates:gates", "Show the gates that candidates must pass."),
    "label": (
        "scirgen.cli.measure.label:label",
        "Collect labels from people: draw, label, merge, measure agreement; test judges.",
    ),
    "calibrate": (
        "scirgen.cli.measure.calibrate:calibrate",
        "Measure faithfulness scores on labelled answers and find thresholds.",
    ),
    "config": ("scirgen.cli.adapt.config:config", "Show the resolved settings."),
    "domains": ("scirgen.cli.adapt.domains:domains", "List the domains, or show what one provides."),
    "init": ("scirgen.cli.adapt.init:init", "Write a plugin package for a new domain."),
    "prompts": ("scirgen.cli.adapt.prompts:prompts", "List, show, render, check, try and compare prompts."),
    "taxonomy": ("scirgen.cli.adapt.taxonomy:taxonomy", "List, show and copy question types, levels and wording."),
    "tagger": ("scirgen.cli.measure.tagger:tagger", "Train a fast local tagger of Bloom levels or question types."),
    "retriever": (
        "scirgen.cli.measure.retriever:retriever",
        "Train an embedding model for retrieval on a release.",
    ),
    "plugins": ("scirgen.cli.adapt.plugins:plugins", "List the installed plugins."),
    "import": ("scirgen.cli.measure.import_:import_", "Import a published dataset as a release."),
    "benchmark": ("scirgen.cli.measure.benchmark:benchmark", "Measure retrievers and models on a release."),
    "leaderboard": (
        "scirgen.cli.measure.leaderboard:leaderboard",
        "Compare benchmark results in a Markdown and an HTML table.",
    ),
    "analyze": ("scirgen.cli.measure.analyze:analyze", "Compare question sets: types, Bloom levels, papers, words."),
    "push": ("scirgen.cli.run.push:push", "Publish a release on the Hugging Face Hub."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is used, so --help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command as click does, with "did you mean" for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from scirgen.core.registry import suggest

            ctx.fail(f"No such command {args[0]!r}. {suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command as click does, but exit with 130 instead of 1 after an interrupt."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            ctx.exit(130)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


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
