"""Options that several commands share. Those of `generate` and `estimate` say what a run reads and makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
"""The type of arguments that name a file or folder."""
SPLIT = click.Choice(["train", "dev", "test"])

as_json_flag = click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
config_option = click.option("--config", "config_file", type=PATH, help="YAML file of settings.")
json_file_option = click.option("--json", "json_file", type=PATH, help="Write the whole result to this file, as JSON.")


def settings_option(example: str = "") -> Callable[[F], F]:
    """``--set KEY=VALUE``, with an example in its help; `parse_settings` reads the values."""
    text = f"Any setting, e.g. {example}." if example else "Any setting."
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)


def echo_json(value: object) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def write_json(file: Path | None, text: str) -> None:
    """Write the figures to the file of ``--json``, if one was given; its folder is made."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")


_OPTIONS = (
    click.argument("path", required=False, type=click.Path()),
    click.option("--domain", help="Domain: examples, settings and a sample corpus. [default: general]"),
    click.option(
        "--input",
        "input_",
        type=click.Path(),
        help="The same as PATH. [default: the domain's sample, if it has one; geo has]",
    ),
    click.option(
        "--papers", type=click.Path(), help="Folder of papers, if it is not inside the input; alone: rows about papers."
    ),
    click.option("--source", help="Registered source adapter (see: scirgen plugins list)."),
    click.option(
        "--model",
        help="Generator: openai:NAME[@URL], a service (mistral:NAME ...), batch:NAME[@URL], hf:ID_OR_DIR, "
        "vllm:ID_OR_DIR, bundled:smollm2-135m. `scirgen models` shows those that can be used here.",
    ),
    click.option("--scorer", help="Model that measures log-probabilities.  [default: the generator]"),
    click.option(
        "--out",
        type=PATH,
        help="The run's folder. [default: runs/latest; runs/latest-2 ... if that holds a run of other input]",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Largest number of datasets."),
    click.option("--refresh", is_flag=True, default=None, help="Read the catalogue again even if it looks unchanged."),
    click.option(
        "--ids", multiple=True, metavar="ID", help="Use only the dataset with this id or DOI; may be repeated."
    ),
    click.option(
        "--licences",
        metavar="NAMES",
        help="Keep only datasets and papers under these licences, e.g. cc-by,cc0. [default: all]",
    ),
    click.option("--query", help="Search terms, for sources that can search their catalogue."),
    click.option("--papers-from", metavar="NAMES", help="Paper services, e.g. openalex,unpaywall."),
    click.option("--seed", type=int, help="Random seed for sampling and splits. [default: 0]"),
    click.option("--language", help="Language of questions and answers (en, zh, ...)."),
    click.option("--overrides", type=click.Path(), help="Folder with your own prompts and taxonomies."),
    click.option("--engine", help="Where items run: local or ray."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Stop cleanly after this many tokens."),
    click.option(
        "--max-cost", type=click.FloatRange(min=0), help="Stop cleanly at this cost (needs prices in the config)."
    ),
    click.option("--max-minutes", type=click.FloatRange(min=0), help="Stop cleanly after this many minutes."),
    config_option,
    settings_option("generate.pairs_per_type=1"),
)


class SettingOption(click.Option):
    """An option that a plugin adds to `generate` and `estimate`: it gives one setting. docs/plugins.md has an example.

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
        """The setting's value; None if the option was not given."""
        value = given.get(self.name or "")
        return (names_in(value) or None) if self._several else value


def run_options(command: F) -> F:
    """Add all of these options to a command; `settings_of` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(given: dict[str, Any]) -> dict[str, object]:
    """Convert the options' values to dotted setting -> value; None if an option was not given.

    Raises:
        UsageError: PATH and --input are both given.
    """
    if given["path"] and given["input_"]:
        raise click.UsageError(f"PATH ({given['path']}) and --input ({given['input_']}) name two inputs; give one.")
    return {
        "input": given["path"] or given["input_"],
        "papers": given["papers"],
        "collect.source": given["source"],
        "collect.limit": given["limit"],
        "collect.refresh": given["refresh"],
        "collect.ids": list(given["ids"]) or None,
        "collect.licences": names_in(given["licences"]) or None,
        "collect.options.query": given["query"],
        "collect.papers_from": names_in(given["papers_from"]) or None,
        "models.generator": given["model"],
        "models.scorer": given["scorer"],
        "seed": given["seed"],
        "language": given["language"],
        "overrides": given["overrides"],
        "engine": given["engine"],
        "limits.max_tokens": given["max_tokens"],
        "limits.max_cost": given["max_cost"],
        "limits.max_minutes": given["max_minutes"],
        **{option.setting: option.value_of(given) for option in _plugin_options()},
        **parse_settings(given["settings"]),
    }


def _plugin_options() -> list[SettingOption]:
    """The options that plugins added to the command that is running."""
    ctx = click.get_current_context(silent=True)
    return [p for p in ctx.command.params if isinstance(p, SettingOption)] if ctx else []


def parse_settings(values: tuple[str, ...]) -> dict[str, object]:
    """``--set a.b=value`` pairs; values are YAML scalars or lists."""
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
    """The names in a comma-separated list; none if it was not given."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 dataset``, ``2 datasets``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
