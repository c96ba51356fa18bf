"""Keys and addresses: reads keys, and controls which parts of them may leave the process.

A key never leaves the process in a text: `masked` replaces the values themselves, in any form that a server may return,
wherever text goes to the terminal, the log, a store or a report. An address with a user name or password is refused:
`has_user_info`.
"""

from __future__ import annotations

import base64
import os
import re
from functools import lru_cache
from urllib.parse import quote, urlsplit

_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?)$", re.I)
_SHORTEST = 8
"""Shorter values ("none", "EMPTY", "test") do not count as keys, since they occur in ordinary words."""
_USER_INFO = re.compile(r"([a-z][a-z0-9+.-]{0,20}://)[^/\s?#@]{1,500}@", re.I)
_IN_QUERY = re.compile(r"(?i)\b(api[_-]?key|access[_-]?token|token|key|secret|password|sig|signature)=[^&\s]{1,2000}")
_known: set[str] = set()


def secret_from_environment(variable: str) -> str:
    """A key from the environment, or an empty string if it is not set. From now on `masked` replaces it."""
    value = os.environ.get(variable, "").strip()
    for line in value.splitlines():
        if len(line) >= _SHORTEST:
            _known.add(line)
    return value


def masked(text: str) -> str:
    """The text without the keys of this process: the keys it read, and all variables whose name indicates a key."""
    for value in _values():
        if value in text:
            text = text.replace(value, "[key]")
    return text


def masked_bytes(data: bytes) -> bytes:
    """Like `masked`, for encoded text (UTF-8 or JSON)."""
    for value in _values():
        if (encoded := value.encode("utf-8", "surrogatepass")) in data:
            data = data.replace(encoded, b"[key]")
    return data


def _values() -> tuple[str, ...]:
    # Every stored reply is masked, so this must be fast: reading only the names takes a seventh of the time.
    names = _key_names(tuple(os.environb))
    return _forms(frozenset(os.environb.get(name, b"") for name in names), frozenset(_known))


@lru_cache(maxsize=16)
def _key_names(names: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(name for name in names if _NAMES.search(os.fsdecode(name)))


@lru_cache(maxsize=16)
def _forms(values: frozenset[bytes], known: frozenset[str]) -> tuple[str, ...]:
    """The keys as they are, in an address and in base64; the longest first."""
    found = {v for v in {os.fsdecode(v).strip() for v in values} | known if len(v) >= _SHORTEST}
    found |= {quote(v, safe="") for v in found} | {base64.b64encode(os.fsencode(v)).decode() for v in found}
    return tuple(sorted(found, key=len, reverse=True))


def shown(address: str) -> str:
    """An address for a message: without user name, password and keys in its query."""
    return masked(_IN_QUERY.sub(r"\1=...", without_user_info(address)))


def without_user_info(address: str) -> str:
    """An address without user name and password."""
    return _USER_INFO.sub(r"\1", address)


def has_user_info(address: str) -> bool:
    """Whether a text holds an address with a user name or password, which would end up in stores, logs and releases."""
    return _USER_INFO.search(address) is not None


def origin(address: str) -> tuple[str, str, int | None]:
    """(scheme, host, port) of an address, to which a service's key is sent.

    Raises:
        ValueError: it is not an address.
    """
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def may_have_keys(address: str, service: str) -> bool:
    """Whether a request to ``address`` may carry the keys of ``service``: the host must be the same, with https unless
    it is this machine."""
    try:
        scheme, host, port = origin(address)
        own = origin(service)
    except ValueError:
        return False
    own_machine = host in ("localhost", "127.0.0.1", "::1")
    return (scheme, host, port) == own and (scheme == "https" or own_machine)
