"""scirgen: retrieval and question-answering datasets for a field of science. The public API; see docs/api.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scirgen.core.version import __version__

_EXPORTS = {
    "generate": "scirgen.api", "agenerate": "scirgen.api", "astream": "scirgen.api", "estimate": "scirgen.api",
    "aestimate": "scirgen.api", "inspect": "scirgen.api", "profile": "scirgen.api",
    "parse": "scirgen.commands.parts", "score": "scirgen.commands.parts", "tag": "scirgen.commands.parts",
    "match": "scirgen.commands.parts", "Table": "scirgen.commands.tables", "Observer": "scirgen.pipeline.observer",
    "ScreenObserver": "scirgen.pipeline.progress",
    "merge": "scirgen.api", "Run": "scirgen.api",
    "Domain": "scirgen.core.resources", "Plugin": "scirgen.core.registry", "Provided": "scirgen.core.registry",
    "Source": "scirgen.stages.collect.source", "SourceSetup": "scirgen.stages.collect.source",
    "PaperService": "scirgen.stages.collect.source", "Http": "scirgen.stages.collect.http",
    "open_http": "scirgen.stages.collect.http", "FolderSource": "scirgen.stages.collect.files.folder",
    "plain_text": "scirgen.core.text.markup", "normalise_licence": "scirgen.core.licences",
    "Cursor": "scirgen.stages.collect.source", "Candidate": "scirgen.stages.collect.source",
    "Fetched": "scirgen.stages.collect.source", "Dataset": "scirgen.core.records", "Paper": "scirgen.core.records",
    "Rejection": "scirgen.core.records", "QAPair": "scirgen.core.records", "Record": "scirgen.core.records",
    "ACCEPT": "scirgen.stages.filter.base", "Backend": "scirgen.llm.base", "BlockKind": "scirgen.core.records",
    "Capabilities": "scirgen.llm.base", "ChatReply": "scirgen.llm.base", "ChatRequest": "scirgen.llm.base",
    "Config": "scirgen.core.config", "Section": "scirgen.core.config", "Discard": "scirgen.stages.generate.strategy",
    "Draft": "scirgen.stages.generate.strategy", "Entailment": "scirgen.llm.encoders.entailment",
    "Faithfulness": "scirgen.stages.filter.base", "Gate": "scirgen.stages.filter.base",
    "Judgement": "scirgen.stages.match.base",
    "Material": "scirgen.stages.filter.base", "ModelError": "scirgen.core.errors", "ModelIdentity": "scirgen.llm.base",
    "ModelURI": "scirgen.llm.uri", "PairGate": "scirgen.stages.filter.base", "PaperError": "scirgen.core.errors",
    "ParsedBlock": "scirgen.stages.parse.base", "ParsedPaper": "scirgen.stages.parse.base",
    "ParserOptions": "scirgen.stages.parse.base", "Place": "scirgen.stages.match.base",
    "Release": "scirgen.release_files.release", "ReleaseRow": "scirgen.release_files.release",
    "Score": "scirgen.core.records", "ScoreReply": "scirgen.llm.base", "ScoreRequest": "scirgen.llm.base",
    "Span": "scirgen.core.records", "Stage": "scirgen.stages.base", "Step": "scirgen.pipeline.plan",
    "StageContext": "scirgen.stages.base", "StageResult": "scirgen.stages.base", "Scope": "scirgen.stages.base",
    "RowFields": "scirgen.stages.release.parts", "RunView": "scirgen.stages.base",
    "Uses": "scirgen.stages.base", "Usage": "scirgen.llm.base", "Verdict": "scirgen.stages.filter.base",
    "WorkItem": "scirgen.stages.base", "GenerationTask": "scirgen.stages.generate.strategy:Task",
    "MatchPair": "scirgen.stages.match.base:Pair", "ScirgenError": "scirgen.core.errors",
    "ConfigError": "scirgen.core.errors", "InputError": "scirgen.core.errors", "SourceError": "scirgen.core.errors",
}  # fmt: skip

if TYPE_CHECKING:
    from scirgen.api import Run as Run
    from scirgen.api import aestimate as aestimate
    from scirgen.api import agenerate as agenerate
    from scirgen.api import astream as astream
    from scirgen.api import estimate as estimate
    from scirgen.api import generate as generate
    from scirgen.api import inspect as inspect
    from scirgen.api import merge as merge
    from scirgen.api import profile as profile
    from scirgen.commands.parts import match as match
    from scirgen.commands.parts import parse as parse
    from scirgen.commands.parts import score as score
    from scirgen.commands.parts import tag as tag
    from scirgen.commands.tables import Table as Table
    from scirgen.core.config import Config as Config
    from scirgen.core.config import Section as Section
    from scirgen.core.errors import ConfigError as ConfigError
    from scirgen.core.errors import InputError as InputError
    from scirgen.core.errors import ModelError as ModelError
    from scirgen.core.errors import PaperError as PaperError
    from scirgen.core.errors import ScirgenError as ScirgenError
    from scirgen.core.errors import SourceError as SourceError
    from scirgen.core.licences import normalise_licence as normalise_licence
    from scirgen.core.records import BlockKind as BlockKind
    from scirgen.core.records import Dataset as Dataset
    from scirgen.core.records import Paper as Paper
    from scirgen.core.records import QAPair as QAPair
    from scirgen.core.records import Record as Record
    from scirgen.core.records import Rejection as Rejection
    from scirgen.core.records import Score as Score
    from scirgen.core.records import Span as Span
    from scirgen.core.registry import Plugin as Plugin
    from scirgen.core.registry import Provided as Provided
    from scirgen.core.resources import Domain as Domain
    from scirgen.core.text.markup import plain_text as plain_text
    from scirgen.llm.base import Backend as Backend
    from scirgen.llm.base import Capabilities as Capabilities
    from scirgen.llm.base import ChatReply as ChatReply
    from scirgen.llm.base import ChatRequest as ChatRequest
    from scirgen.llm.base import ModelIdentity as ModelIdentity
    from scirgen.llm.base import ScoreReply as ScoreReply
    from scirgen.llm.base import ScoreRequest as ScoreRequest
    from scirgen.llm.base import Usage as Usage
    from scirgen.llm.encoders.entailment import Entailment as Entailment
    from scirgen.llm.uri import ModelURI as ModelURI
    from scirgen.pipeline.observer import Observer as Observer
    from scirgen.pipeline.plan import Step as Step
    from scirgen.pipeline.progress import ScreenObserver as ScreenObserver
    from scirgen.release_files.release import Release as Release
    from scirgen.release_files.release import ReleaseRow as ReleaseRow
    from scirgen.stages.base import RunView as RunView
    from scirgen.stages.base import Scope as Scope
    from scirgen.stages.base import Stage as Stage
    from scirgen.stages.base import StageContext as StageContext
    from scirgen.stages.base import StageResult as StageResult
    from scirgen.stages.base import Uses as Uses
    from scirgen.stages.base import WorkItem as WorkItem
    from scirgen.stages.collect.files.folder import FolderSource as FolderSource
    from scirgen.stages.collect.http import Http as Http
    from scirgen.stages.collect.http import open_http as open_http
    from scirgen.stages.collect.source import Candidate as Candidate
    from scirgen.stages.collect.source import Cursor as Cursor
    from scirgen.stages.collect.source import Fetched as Fetched
    from scirgen.stages.collect.source import PaperService as PaperService
    from scirgen.stages.collect.source import Source as Source
    from scirgen.stages.collect.source import SourceSetup as SourceSetup
    from scirgen.stages.filter.base import ACCEPT as ACCEPT
    from scirgen.stages.filter.base import Faithfulness as Faithfulness
    from scirgen.stages.filter.base import Gate as Gate
    from scirgen.stages.filter.base import Material as Material
    from scirgen.stages.filter.base import PairGate as PairGate
    from scirgen.stages.filter.base import Verdict as Verdict
    from scirgen.stages.generate.strategy import Discard as Discard
    from scirgen.stages.generate.strategy import Draft as Draft
    from scirgen.stages.generate.strategy import Task
    from scirgen.stages.match.base import Judgement as Judgement
    from scirgen.stages.match.base import Pair
    from scirgen.stages.match.base import Place as Place
    from scirgen.stages.parse.base import ParsedBlock as ParsedBlock
    from scirgen.stages.parse.base import ParsedPaper as ParsedPaper
    from scirgen.stages.parse.base import ParserOptions as ParserOptions
    from scirgen.stages.release.parts import RowFields as RowFields

    GenerationTask = Task
    MatchPair = Pair

__all__ = [*_EXPORTS, "__version__"]

_MOVED = {
    "benchmark_retrieval": "scirgen_bench.benchmark_retrieval",
    "benchmark_qa": "scirgen_bench.benchmark_qa",
    "abenchmark_qa": "scirgen_bench.abenchmark_qa",
    "audit": "scirgen_bench.audit",
    "Ranking": "scirgen_bench.Ranking",
    "labels": "scirgen_label.read_labels",
    "agreement": "scirgen_label.measure_agreement",
    "QueryRecipe": "scirgen_tasks.QueryRecipe",
    "Query": "scirgen_tasks.Query",
    "paper_materials": "scirgen_tasks.paper_materials",
}
"""Old name -> where it is now."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    # Imported lazily, so `scirgen --help` and plugin manifests import nothing heavy.
    if name in _EXPORTS:
        import importlib

        module, _, attribute = _EXPORTS[name].partition(":")
        return getattr(importlib.import_module(module), attribute or name)
    if name in _MOVED:
        module, _, attribute = _MOVED[name].partition(".")
        raise ImportError(f"scirgen.{name} has moved: from {module} import {attribute}")
    raise AttributeError(f"module 'scirgen' has no attribute {name!r}")
