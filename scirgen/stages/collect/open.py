"""Opens a source from the configuration: chooses the adapter and its input. `pages` reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scirgen.core.config import Config, SourceDefaults
from scirgen.core.errors import ConfigError, InputError, PluginError
from scirgen.core.registry import Registry
from scirgen.core.resources import Domain
from scirgen.stages.base import PaperReader
from scirgen.stages.collect.files.folder import only_papers
from scirgen.stages.collect.source import NO_INPUT, PaperService, SourceSetup
from scirgen.stages.collect.validated_source import CheckedSource, blamed, checked, lacking

AUTO = "auto"
LOCAL = "local"
PAPERS_ALONE = "papers"


def open_source(
    config: Config, registry: Registry, domain: Domain | None, folder: Path, reader: PaperReader | None = None
) -> CheckedSource:
    """Open the source that ``collect.source`` names, with the run's input.

    Args:
        config: ``input``, ``papers`` and ``collect`` are read.
        registry: where sources and paper services are looked up.
        domain: its sample is the input if none is given.
        folder: the run's folder; downloads go below it.
        reader: reads papers, for a source that makes records of them.

    Raises:
        InputError: the input or the folder of papers does not exist, holds no records, or is the run's folder.
        PluginError: no source of that name.
        ConfigError: the source's options are wrong, or the domain's own source cannot say whether it reads the input.
    """
    given = _input(config, domain)
    for read in (config.input, config.papers):
        if read and Path(read).expanduser().resolve() == folder.resolve():
            raise InputError(
                f"--out {folder} is also the input folder; a run would read its own files",
                hint="Give --out another folder; one inside the input may be used, and is not read.",
                code="out_is_input",
            )
    name = config.collect.source
    if name == AUTO or (given is not None and "source" not in config.collect.model_fields_set):
        name = _claiming(registry, domain, given)
    if name == LOCAL and given is not None and only_papers(given):
        name = PAPERS_ALONE
    defaults = config.collect.sources.get(name, SourceDefaults())
    records = {"records": config.collect.records} if config.collect.records else {}
    setup = SourceSetup(
        input=given,
        papers=_existing(config.papers, "folder of papers") if config.papers else None,
        domain=config.domain,
        cache=folder / "sources",
        options={**defaults.options, **config.collect.options, **records},
        http=config.collect.http.model_copy(update={"cache_days": 0.0})
        if config.collect.refresh
        else config.collect.http,
        parse=config.parse,
        language=config.language,
        licences=config.collect.licences,
        datasets_from_papers=config.collect.datasets_from_papers,
        reader=reader,
    )
    source = checked(_made(registry, "source", name, setup))
    if config.input and not getattr(registry.get("source", name), "reads_files", True):
        raise InputError(
            f"source {name!r} reads from its service, not from files, but --input {config.input} is given",
            hint="Leave out --source: scirgen reads exports of DataCite, CKAN, OAI-PMH and other services directly.",
            code="input_not_read",
        )
    options = config.collect.paper_options
    for service in config.collect.papers_from or defaults.papers_from:
        source.services.append(_service(registry, service, replace(setup, options=options.get(service, {}))))
    return source


def _service(registry: Registry, name: str, setup: SourceSetup) -> PaperService:
    service = _made(registry, "papers", name, setup)
    if not isinstance(service, PaperService):
        raise PluginError(f"paper service {name!r} lacks {lacking(service, PaperService)}", hint="See docs/sources.md.")
    return service


def _made(registry: Registry, kind: str, name: str, setup: SourceSetup) -> object:
    target = registry.get(kind, name)
    if not callable(target):
        raise PluginError(f"{kind} {name!r} is a {type(target).__name__}, but must be callable with a SourceSetup")
    with blamed(target, "its constructor", name):
        made: object = target(setup)
    return made


def _input(config: Config, domain: Domain | None) -> Path | None:
    """Return the given input; papers without records stand for themselves; the sample if nothing is given."""
    if config.input:
        return _existing(config.input, "input")
    if config.papers and config.collect.source in (AUTO, LOCAL, PAPERS_ALONE):
        return _existing(config.papers, "folder of papers")
    return domain.sample if domain is not None else None


def _existing(given: str, what: str) -> Path:
    path = Path(given).expanduser()
    if not path.exists():
        raise InputError(f"the {what} {given!r} does not exist", hint="Check the path.", code="missing_input")
    return path


def _claiming(registry: Registry, domain: Domain | None, path: Path | None) -> str:
    if path is None:
        raise ConfigError("nothing to read: no input is given, and the domain has no sample", hint=NO_INPUT)
    entries = registry.entries()
    owner = entries[("domain", domain.name)][0] if domain and ("domain", domain.name) in entries else None
    for (kind, name), (plugin, _) in sorted(entries.items(), key=lambda e: e[0]):
        if kind == "source" and plugin == owner and name not in (LOCAL, PAPERS_ALONE):
            adapter = registry.get("source", name)
            claims = getattr(adapter, "claims", None)
            if claims is None and getattr(adapter, "reads_files", True):
                said = f"the domain has its own source {name!r}, which does not say whether it reads {path}"
                raise ConfigError(said, hint=f"Set collect.source to {name} or local, or give the source `claims`.")
            with blamed(adapter, "claims()", name):
                if claims is not None and claims(path):
                    return name
    return LOCAL
