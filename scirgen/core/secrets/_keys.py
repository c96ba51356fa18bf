"""Keys and addresses: reads keys, and controls which parts of them may leave the process.

A key never leaves the process in a text: `masked` replaces the values themselves, in any form that a server may return,
and removes passwords from addresses, wherever text goes to the terminal, the log, a store or a report. Records and
papers lose such passwords when they are read (`addresses`), and settings that hold one are refused.
"""

from __future__ import annotations

import base64
import json
import os
import re
from functools import lru_cache
from urllib.parse import quote, quote_plus, urlsplit

from scirgen.core.secrets.addresses import without_passwords

_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?)$", re.I)
_SHORTEST = 8
"""Shorter values ("none", "EMPTY", "test") do not count as keys, since they occur in ordinary words."""
_known: set[str] = set()


def secret_from_environment(variable: str) -> str:
    """Read a key from the environment, or an empty string if it is not set. From now on `masked` replaces it."""
    return as_secret(os.environ.get(variable, ""))


def as_secret(value: str) -> str:
    """Return the key without blanks around it. From now on `masked` replaces it."""
    value = value.strip()
    for line in value.splitlines():
        if len(line) >= _SHORTEST:
            _known.add(line)
    return value


def masked(text: str) -> str:
    """Return the text without the keys of this process (those that it read, and all variables whose name indicates a
    key) and without passwords in addresses."""
    text = without_passwords(text)
    for value in _values():
        if value in text:
            text = text.replace(value, "[key]")
    return text


def masked_bytes(data: bytes) -> bytes:
    """Like `masked`, for encoded text (UTF-8 or JSON)."""
    text = data.decode("utf-8", "surrogateescape")
    if (kept := without_passwords(text)) != text:
        data = kept.encode("utf-8", "surrogateescape")
    for value in _values():
        if (encoded := value.encode("utf-8", "surrogatepass")) in data:
            data = data.replace(encoded, b"[key]")
    return data


def shown(address: str) -> str:
    """Return an address for a message: without user name, password and anything in its query that may be a key."""
    return masked(_IN_QUERY.sub(r"\1=...", without_passwords(address)))


_IN_QUERY = re.compile(r"(?i)\b(token|key|secret|sig|signature)=[^&\s]{1,2000}")


def _values() -> tuple[str, ...]:
    # Every stored reply is masked, so this must be fast: reading only the names takes a seventh of the time.
    names = _key_names(tuple(os.environb))
    return _forms(frozenset(os.environb.get(name, b"") for name in names), frozenset(_known))


@lru_cache(maxsize=16)
def _key_names(names: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(name for name in names if _NAMES.search(os.fsdecode(name)))


@lru_cache(maxsize=16)
def _forms(values: frozenset[bytes], known: frozenset[str]) -> tuple[str, ...]:
    """Return the keys as they are, in an address, in JSON and in base64; the longest first."""
    found = {v for v in {os.fsdecode(v).strip() for v in values} | known if len(v) >= _SHORTEST}
    for value in tuple(found):
        found.update(_quoted(value))
        found.update(_in_base64(os.fsencode(value)))
    return tuple(sorted(found, key=len, reverse=True))


def _quoted(value: str) -> set[str]:
    """Return the forms of the key in an address, in JSON, and in JSON inside JSON."""
    forms = {quote(value, safe=""), quote(value), quote_plus(value)}
    forms |= {re.sub("%..", lambda found: found.group().lower(), form) for form in forms}
    inner = {value}
    for _ in range(2):
        inner |= {json.dumps(v, ensure_ascii=ascii)[1:-1] for v in inner for ascii in (True, False)}
        inner |= {v.replace("/", "\\/") for v in inner}
    return forms | inner


def _in_base64(value: bytes) -> set[str]:
    """Return the characters of base64 of any text with the key in it, by the key's place in a group of three bytes."""
    forms = {base64.b64encode(value).decode()}
    for before in range(3):
        whole = base64.b64encode(bytes(before) + value).decode()
        # Characters whose bits come from the neighbours too are left out: (0, 2, 3) at the start.
        forms.add(whole[-(-before * 8 // 6) : (before + len(value)) * 8 // 6])
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}


def origin(address: str) -> tuple[str, str, int | None]:
    """Return (scheme, host, port) of an address, to which a service's key is sent.

    Raises:
        ValueError: it is not an address.
    """
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def may_have_keys(address: str, service: str) -> bool:
    """Check whether a request to ``address`` may carry the keys of ``service``: the host must be the same, with https
    unless it is this machine."""
    try:
        scheme, host, port = origin(address)
        own = origin(service)
    except ValueError:
        return False
    own_machine = host in ("localhost", "127.0.0.1", "::1")
    return (scheme, host, port) == own and (scheme == "https" or own_machine)
