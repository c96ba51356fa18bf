"""Reads from a tokenizer's files which tokens a model takes as control."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from scirgen.core.errors import ConfigError

_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_MAX_BYTES = 200_000_000


def special_tokens(folder: Path) -> tuple[str, ...]:
    """Return the tokens that a model reads as control, sorted, from a folder in the form of Hugging Face.

    Raises:
        ConfigError: the folder holds none of a tokenizer's files, or a damaged one.
    """
    files = [folder / name for name in _FILES if (folder / name).is_file()]
    if not files:
        raise ConfigError(f"models.tokenizer: {folder} has no tokenizer", hint=f"It has none of {', '.join(_FILES)}.")
    found: set[str] = set()
    for file in files:
        try:
            if file.stat().st_size > _MAX_BYTES:
                raise ValueError(f"larger than {_MAX_BYTES / 1e6:.0f} MB")
            found.update(_tokens(json.loads(file.read_text(encoding="utf-8")), file.name))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"models.tokenizer: {file} cannot be read: {error}") from error
    return tuple(sorted(t for t in found if len(t.strip()) > 1))


def _tokens(value: object, name: str) -> Iterator[str]:
    """Yield the added tokens: those marked special, and all that look like control (in brackets of any kind)."""
    if not isinstance(value, Mapping):
        return
    if name == "added_tokens.json":
        yield from (str(token) for token in value if _bracketed(str(token)))
        return
    added = value.get("added_tokens") or []
    by_id = value.get("added_tokens_decoder") or {}
    rows = [*(added if isinstance(added, list) else []), *(by_id.values() if isinstance(by_id, Mapping) else [])]
    for row in rows:
        token = row.get("content") if isinstance(row, Mapping) else None
        if isinstance(token, str) and (row.get("special") or _bracketed(token)):
            yield token
    for key, token in value.items():
        if str(key).endswith("_token"):
            yield from (
                t for t in (token, token.get("content") if isinstance(token, Mapping) else None) if isinstance(t, str)
            )
    more = value.get("additional_special_tokens") or []
    yield from (t for t in more if isinstance(t, str)) if isinstance(more, list) else ()


def _bracketed(token: str) -> bool:
    return len(token) > 2 and token[0] in "<[＜{|" and token[-1] in ">]＞}|"
