"""Options that several commands share. Those of `generate` and `estimate` define what a run reads and makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from scirgen.core.text.shown import counted as counted

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
"""The type of arguments that name a file or folder."""

config_option = click.option("--config", "config_file", type=PATH, help="YAML file of settings.")


def as_json_flag(command: F) -> F:
    """Add ``--json`` to a command, which gets it as ``as_json``: print the result as JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Machine-readable.")(command)


def settings_option(example: str = "") -> Callable[[F], F]:
    """Make the option ``--set KEY=VALUE``, with an example in its help; `parse_settings` reads the values."""
    text = f"Any setting, e.g. {example}." if example else "Any setting."
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)


def echo_json(value: object) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


class SettingOption(click.Option):
    """An option of `generate` and `estimate` that gives one setting; a plugin may add some. docs/plugins.md has an
    example.

    Args:
        flags: such as ``("--recipes",)``.
        setting: the dotted setting that the value goes to.
        several: the value is a comma-separated list of names.
        more: as for `click.Option`.
    """

    def __init__(self, flags: Sequence[str], setting: str, *, several: bool = False, **more: Any) -> None:
        super().__init__(flags, **more)
        self.setting, self._several = setting, several

    def value_of(self, given: Mapping[str, Any]) -> object:
        """Return the setting's value; None if the option was not given."""
        value = given.get(self.name or "")
        if self._several:
            return names_in(value) or None
        return (list(value or ()) or None) if self.multiple else value


def _sets(flag: str, setting: str, help: str, **more: Any) -> Callable[[F], F]:
    return click.option(flag, cls=SettingOption, setting=setting, help=help, **more)


_OPTIONS = (
    click.argument("path", required=False, type=click.Path()),
    click.option("--domain", help="Domain: examples, settings and a sample corpus. [default: general]"),
    click.option(
        "--input",
        "input_",
        type=click.Path(),
        help="The same as PATH. [default: the domain's sample, if it has one; geo has]",
    ),
    _sets(
        "--papers",
        "papers",
        "Folder of papers, if it is not inside the input. Without records, rows are about papers.",
        type=click.Path(),
    ),
    _sets("--source", "collect.source", "Registered source adapter (see: scirgen plugins list)."),
    _sets(
        "--model",
        "models.generator",
        "Generator: openai:NAME[@URL], a service (mistral:NAME ...), batch:NAME[@URL], hf:ID_OR_DIR, "
        "vllm:ID_OR_DIR, bundled:smollm2-135m. `scirgen models` shows those that can be used here.",
    ),
    _sets("--scorer", "models.scorer", "Model that measures log-probabilities.  [default: the generator]"),
    click.option(
        "--out",
        type=PATH,
        help="The run's folder. [default: runs/latest; runs/latest-2 ... if that holds a run of other input]",
    ),
    _sets("--limit", "collect.limit", "Largest number of datasets.", type=click.IntRange(min=1)),
    _sets(
        "--refresh",
        "collect.refresh",
        "Read the catalogue again even if it looks unchanged.",
        is_flag=True,
        default=None,
    ),
    _sets(
        "--ids",
        "collect.ids",
        "Use only the dataset with this id or DOI; may be repeated.",
        multiple=True,
        metavar="ID",
    ),
    _sets(
        "--licences",
        "collect.licences",
        "Keep only datasets and papers under these licences, e.g. cc-by,cc0. [default: all]",
        several=True,
        metavar="NAMES",
    ),
    _sets("--query", "collect.options.query", "Search terms, for sources that can search their catalogue."),
    _sets(
        "--papers-from",
        "collect.papers_from",
        "Paper services, e.g. openalex,unpaywall.",
        several=True,
        metavar="NAMES",
    ),
    _sets("--seed", "seed", "Random seed for sampling and splits. [default: 0]", type=int),
    _sets("--language", "language", "Language of questions and answers (en, zh, ...)."),
    _sets("--overrides", "overrides", "Folder with your own prompts and taxonomies.", type=click.Path()),
    _sets("--engine", "engine", "Where items run: local or ray."),
    _sets("--max-tokens", "limits.max_tokens", "Stop cleanly after this many tokens.", type=click.IntRange(min=1)),
    _sets(
        "--max-cost",
        "limits.max_cost",
        "Stop cleanly at this cost (needs prices in the config).",
        type=click.FloatRange(min=0),
    ),
    _sets("--max-minutes", "limits.max_minutes", "Stop cleanly after this many minutes.", type=click.FloatRange(min=0)),
    config_option,
    settings_option("generate.pairs_per_type=1"),
)


def run_options(command: F) -> F:
    """Add all of these options to a command; `settings_of` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(given: dict[str, Any]) -> dict[str, object]:
    """Convert the values of the running command's options to dotted setting -> value; None if one was not given.

    Raises:
        UsageError: PATH and --input are both given.
    """
    if given["path"] and given["input_"]:
        raise click.UsageError(f"PATH ({given['path']}) and --input ({given['input_']}) name two inputs; give one.")
    options = [p for p in click.get_current_context().command.params if isinstance(p, SettingOption)]
    return {
        "input": given["path"] or given["input_"],
        **{option.setting: option.value_of(given) for option in options},
        **parse_settings(given["settings"]),
    }


def parse_settings(values: tuple[str, ...]) -> dict[str, object]:
    """Parse ``--set a.b=value`` pairs; values are YAML scalars or lists."""
    import yaml

    from scirgen.core.errors import ConfigError
    from scirgen.core.files.yamlfile import parse_yaml

    found: dict[str, object] = {}
    for text in values:
        key, sign, value = text.partition("=")
        if not sign:
            raise click.BadParameter(f"{text!r}: expected KEY=VALUE", param_hint="--set")
        try:
            found[key] = parse_yaml(value)
        except (yaml.YAMLError, ValueError) as error:
            problem = getattr(error, "problem", None) or str(error)
            raise ConfigError(
                f"--set {text}: not a YAML value: {problem}",
                hint="Use two pairs of quotation marks: --set 'KEY=\"VALUE\"'.",
            ) from error
    return found


def names_in(listed: str | None) -> list[str]:
    """Return the names in a comma-separated list; none if it was not given."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
