"""The child process in which files are parsed: ``python -m scirgen.stages.parse.process.worker``. Started and killed
by `pool`.

It reads one JSON request per line from standard input and writes one JSON reply per line. Output of libraries goes to
standard error. It never outlives its parent: it ends when its input closes, and the kernel ends it when the parent dies
or a request takes too long, even if it is stuck in native code. It ignores signals to stop; its parent obeys them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from scirgen.core.errors import MissingExtraError, PaperError, PluginError, ScirgenError
from scirgen.core.records import BlockKind
from scirgen.core.registry import described, load_registry, returned
from scirgen.core.text.tame import tame, uncontrolled
from scirgen.core.text.untrusted import without_orders
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper, Parser, ParserOptions, out_of_memory
from scirgen.stages.parse.sniff import sniff

_LONGEST_HEADING = 300
_LONGEST_BLOCK = 100_000
_MAX_BLOCKS = 50_000
_MAX_HEADINGS = 1_000
_LONGEST_NAME = 200
_MAX_AUTHORS = 5_000


def presentable(parsed: ParsedPaper) -> ParsedPaper:
    """Return the paper without control characters and sentences that address a language model, its ``orders``.

    They are removed here and not in later stages, so that no prompt, evidence or release ever holds them.
    """
    taken: list[str] = []

    def clean(text: str, max_run: int) -> str:
        kept, orders = without_orders(tame(uncontrolled(text), max_run), parsed.language or "en")
        taken.extend(orders)
        return kept

    blocks = _plain_after(
        tuple(_block(b, clean(b.text, _length_limit(b))) for b in parsed.blocks[:_MAX_BLOCKS]), _MAX_HEADINGS
    )
    title, abstract = clean(parsed.title, _LONGEST_HEADING * 2), clean(parsed.abstract, _LONGEST_BLOCK)
    authors = tuple(filter(None, (clean(name, _LONGEST_NAME) for name in parsed.authors[:_MAX_AUTHORS])))
    found = {"title": title, "abstract": abstract, "authors": authors, "blocks": blocks}
    return parsed.model_copy(update={**found, "orders": tuple(dict.fromkeys(taken))})


def _plain_after(blocks: tuple[ParsedBlock, ...], limit: int) -> tuple[ParsedBlock, ...]:
    """Return the blocks with at most so many headings; further ones become paragraphs. No paper has as many, and their
    cost grows with their square."""
    if sum(b.kind is BlockKind.HEADING for b in blocks) <= limit:
        return blocks
    seen, kept = 0, []
    for block in blocks:
        seen += block.kind is BlockKind.HEADING
        late = block.kind is BlockKind.HEADING and seen > limit
        kept.append(block.model_copy(update={"kind": BlockKind.PARAGRAPH, "level": None}) if late else block)
    return tuple(kept)


def _length_limit(block: ParsedBlock) -> int:
    return _LONGEST_HEADING if block.kind is BlockKind.HEADING else _LONGEST_BLOCK


def _block(block: ParsedBlock, text: str) -> ParsedBlock:
    if text == (before := uncontrolled(block.text)):
        return block.model_copy(update={"text": text})
    # After a removed sentence, the places of lines and cells are unknown; lines before it keep theirs.
    same = next((i for i, (a, b) in enumerate(zip(text, before, strict=False)) if a != b), min(len(text), len(before)))
    lines = tuple(line for line in block.lines if line.start <= same)
    refused = "table_shape" if block.table else block.refused
    return block.model_copy(update={"text": text, "lines": lines, "table": None, "refused": refused})


_GRACE_S = 5.0
_KEPT_SHARE = 0.5
"""A worker whose memory has grown by more than this share of the limit serves no other file."""
_NO_PARSER = "Install a plugin that reads them, or give the papers as text, Markdown or JATS files."
_MEMORY_SIGNS = ("malloc", "calloc", "realloc", "out of memory", "cannot allocate")


def main() -> None:
    """Serve requests until standard input closes."""
    parent = int(sys.argv[1])
    memory_mb = int(sys.argv[2])
    _die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    parsers: dict[str, Parser | ScirgenError] = {}
    base = 0
    for line in sys.stdin:
        request = json.loads(line)
        for plugin in request["parsers"].values():
            # Loaded once: after a file that used up the memory, loading would fail for the next file.
            if plugin["target"] not in parsers:
                parsers[plugin["target"]] = _load(plugin)
        if not base:
            presentable(ParsedPaper(parser="", blocks=(ParsedBlock(kind=BlockKind.PARAGRAPH, text="A text."),)))
            base = _limit_memory(memory_mb)
            gc.set_threshold(20_000, 20, 50)  # with Python's 700, searches for garbage take a fifth of the time
            gc.freeze()
        try:
            reply = json.dumps(_answer(parsers, request))
        except MemoryError:
            reply = json.dumps(_error(out_of_memory()))
        gc.collect()
        if _address_space() - base > memory_mb * 2**20 * _KEPT_SHARE:
            reply = reply[:-1] + ', "used_up": true}'
        replies.write(reply + "\n")
        replies.flush()


def _load(plugin: dict[str, Any]) -> Parser | ScirgenError:
    module, _, attribute = plugin["target"].partition(":")
    try:
        return cast(Parser, getattr(importlib.import_module(module), attribute)())
    except ScirgenError as error:
        return error
    except ImportError as error:
        if plugin["extra"]:
            return MissingExtraError(
                f"parser {plugin['name']!r} needs a package that is not installed: {error}",
                hint=f"Install it with: pip install 'scirgen[{plugin['extra']}]'; or give the papers as text, "
                "Markdown, JATS or TEI files, or use a GROBID server (parse.parser: grobid).",
            )
        return PluginError(f"parser {plugin['name']!r} cannot be imported: {error}")
    except Exception as error:
        return PluginError(
            f"parser {plugin['name']!r} cannot be loaded: {error}", hint="Reinstall or remove the plugin."
        )


def _answer(parsers: Mapping[str, Parser | ScirgenError], request: dict[str, Any]) -> dict[str, object]:
    options = ParserOptions.model_validate(request["options"])
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, options.timeout_s + _GRACE_S)
    try:
        path, by_kind = Path(request["path"]), request["parsers"]
        kind = None if "" in by_kind else sniff(path)
        if (kind or "") not in by_kind:
            return _error(PluginError(f"no installed parser reads {kind} files", hint=_NO_PARSER))
        parser = parsers[by_kind[kind or ""]["target"]]
        if isinstance(parser, ScirgenError):
            return _error(parser)
        read = returned(parser.parse, parser.parse(path, options), ParsedPaper, "a scirgen.ParsedPaper")
        parsed = presentable(read).model_copy(update={"kind": kind})
    except MemoryError:
        return _error(out_of_memory())
    except ScirgenError as error:
        return _error(error)
    except RecursionError:
        return _error(PaperError("the file is nested too deeply", code="damaged"))
    except Exception as error:
        if any(sign in str(error).lower() for sign in _MEMORY_SIGNS):
            return _error(out_of_memory())
        if place := load_registry().place_of(error):
            return _error(ScirgenError(described(error, place), code="plugin_fault"))
        return _error(PaperError(f"cannot be parsed: {type(error).__name__}: {error}"[:500], code="damaged"))
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
    return {"parsed": parsed.model_dump(mode="json")}


def _error(error: ScirgenError) -> dict[str, object]:
    told = {"code": error.error_code, "message": error.message, "hint": error.hint}
    return {"error": {"kind": type(error).__name__, **told}}


def _limit_memory(megabytes: int) -> int:
    """Let the address space grow by ``megabytes`` beyond the need of the interpreter and the parser's libraries;
    returns that need."""
    try:
        import resource
    except ImportError:  # on Windows, only the time limit works
        return 1
    now = _address_space()
    with contextlib.suppress(ValueError, OSError):
        if now:
            resource.setrlimit(resource.RLIMIT_AS, (now + megabytes * 2**20, resource.RLIM_INFINITY))
    return now or 1


def _address_space() -> int:
    """Return the address space in bytes; 0 if the system does not report it (macOS)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # the parent died before the signal was set
            os._exit(1)


if __name__ == "__main__":
    main()
