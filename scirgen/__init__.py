"""scirgen: retrieval and question-answering datasets for a field of science. The public API; see docs/api.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scirgen.core.version import __version__

_EXPORTS = {
    "generate": "scirgen.api",
    "merge": "scirgen.api",
    "Run": "scirgen.api",
    "Domain": "scirgen.core.resources",
    "Plugin": "scirgen.core.registry",
    "Provided": "scirgen.core.registry",
    "Source": "scirgen.stages.collect.source",
    "SourceSetup": "scirgen.stages.collect.source",
    "PaperService": "scirgen.stages.collect.source",
    "Http": "scirgen.stages.collect.web.http",
    "open_http": "scirgen.stages.collect.web.http",
    "FolderSource": "scirgen.stages.collect.files.folder",
    "plain_text": "scirgen.core.text.markup",
    "normalise_licence": "scirgen.stages.collect.licences",
    "Cursor": "scirgen.stages.collect.source",
    "Candidate": "scirgen.stages.collect.source",
    "Fetched": "scirgen.stages.collect.source",
    "Dataset": "scirgen.core.records",
    "Paper": "scirgen.core.records",
    "Rejection": "scirgen.core.records",
    "QAPair": "scirgen.core.records",
    "ScirgenError": "scirgen.core.errors",
    "ConfigError": "scirgen.core.errors",
    "InputError": "scirgen.core.errors",
    "SourceError": "scirgen.core.errors",
}

if TYPE_CHECKING:
    from scirgen.core.errors import ConfigError as ConfigError
    from scirgen.core.errors import InputError as InputError
    from scirgen.core.errors import ScirgenError as ScirgenError
    from scirgen.core.errors import SourceError as SourceError
    from scirgen.core.records import Dataset as Dataset
    from scirgen.core.records import Paper as Paper
    from scirgen.core.records import QAPair as QAPair
    from scirgen.core.records import Rejection as Rejection
    from scirgen.core.registry import Plugin as Plugin
    from scirgen.core.registry import Provided as Provided
    from scirgen.core.resources import Domain as Domain
    from scirgen.core.text.markup import plain_text as plain_text
    from scirgen.stages.collect.files.folder import FolderSource as FolderSource
    from scirgen.stages.collect.licences import normalise_licence as normalise_licence
    from scirgen.stages.collect.source import Candidate as Candidate
    from scirgen.stages.collect.source import Cursor as Cursor
    from scirgen.stages.collect.source import Fetched as Fetched
    from scirgen.stages.collect.source import PaperService as PaperService
    from scirgen.stages.collect.source import Source as Source
    from scirgen.stages.collect.source import SourceSetup as SourceSetup
    from scirgen.stages.collect.web.http import Http as Http
    from scirgen.stages.collect.web.http import open_http as open_http

__all__ = [*_EXPORTS, "__version__"]


def __getattr__(name: str) -> object:
    # Lazy, so that `scirgen --help` and plugin manifests import nothing heavy.
    if name in _EXPORTS:
        import importlib

        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'scirgen' has no attribute {name!r}")
