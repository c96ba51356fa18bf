"""Keys and addresses: reads keys, and controls which parts of them may leave the process.

A key never leaves the process in a text: `masked` replaces the values themselves, in any form that a server may return,
and removes passwords from addresses, wherever text goes to the terminal, the log, a store or a report. Records and
papers lose such passwords when they are read (`without_passwords`), and settings that hold one are refused.
"""

from __future__ import annotations

import base64
import json
import os
import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?)$", re.I)
_SHORTEST = 8
"""Shorter values ("none", "EMPTY", "test") do not count as keys, since they occur in ordinary words."""
_known: set[str] = set()

_IN_AUTHORITY: Final = r'(?:[^/\\\s?#<>"]|\\[^nrtu"/])*'
_ADDRESS: Final = r':(?:\\?/){2}[^\s<>"]+|%3a(?:%2f){2}[^\s<>"]+'
"""An address from its ``://`` on; in JSON its slashes may be escaped, and inside another address it is quoted."""
_PASSWORDS: Final = (
    # user name and password, up to the last @ of the authority
    (rf"(:(?:\\?/){{2}}){_IN_AUTHORITY}@", r"\1"),
    (r'(%3a(?:%2f){2})(?:(?!%2f|%3f|%23)[^/\\\s?#&<>"])*%40', r"\1"),
    # parameters that hold nothing but a credential
    (
        r"((?<![a-z0-9])(?:api[_-]?key|(?:access|auth|refresh|id|private|session|bearer|oauth)[_-]?token|access[_-]?key"
        r"|client[_-]?secret|password|passwd|pwd|x-(?:amz|goog)-(?:signature|credential|security-token)"
        r'|subscription-key)(?:=|%3d))[^&\s#;"<>\\]+',
        r"\1...",
    ),
    # tokens of well-known services under any name; the forms are those of gitleaks.toml (commit 009e025)
    (
        r"(?-i:(?<![A-Za-z0-9])(?:gh[opsur]_[A-Za-z0-9]{36}|github_pat_\w{60,}|gl[a-z]{2,6}-[\w-]{20,}"
        r"|sk-(?:ant|proj|or|svcacct)-[\w-]{20,}|sk-[A-Za-z0-9]{32,}|(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}"
        r"|hf_[A-Za-z]{34}|xox[abeoprs]-[\w-]{20,}|AIza[\w-]{35}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|npm_[A-Za-z0-9]{36}"
        r"|pypi-AgEI[\w-]{50,}|SG\.[\w.-]{60,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"
        r"|dapi[a-f0-9]{32}|gsk_[A-Za-z0-9]{40,}|eyJ[\w-]{14,}\.[\w-]{10,}\.[\w-]{10,}))",
        "...",
    ),
)


def secret_from_environment(variable: str) -> str:
    """Read a key from the environment, or an empty string if it is not set. From now on `masked` replaces it."""
    return as_secret(os.environ.get(variable, ""))


def as_secret(value: str) -> str:
    """The key without blanks around it. From now on `masked` replaces it."""
    value = value.strip()
    for line in value.splitlines():
        if len(line) >= _SHORTEST:
            _known.add(line)
    return value


def masked(text: str) -> str:
    """The text without the keys of this process (those that it read, and all variables whose name indicates a key) and
    without passwords in addresses."""
    text = without_passwords(text)
    for value in _values():
        if value in text:
            text = text.replace(value, "[key]")
    return text


def masked_bytes(data: bytes) -> bytes:
    """Like `masked`, for encoded text (UTF-8 or JSON)."""
    if any(mark.encode() in data for mark in _MARKS):
        data = without_passwords(data.decode("latin-1")).encode("latin-1")  # the patterns are ASCII
    for value in _values():
        if (encoded := value.encode("utf-8", "surrogatepass")) in data:
            data = data.replace(encoded, b"[key]")
    return data


def without_passwords(text: str) -> str:
    """The text with its addresses rid of user names, passwords, signatures and tokens."""
    if not any(mark in text for mark in _MARKS):
        return text
    address, parts = _patterns()

    def clean(found: re.Match[str]) -> str:
        kept = found.group()
        for pattern, instead in parts:
            kept = pattern.sub(instead, kept)
        return kept

    return address.sub(clean, text)


def has_password(text: str) -> bool:
    """Check whether an address in the text has a part that `without_passwords` removes."""
    return without_passwords(text) != text


def shown(address: str) -> str:
    """An address for a message: without user name, password and anything in its query that may be a key."""
    return masked(_IN_QUERY.sub(r"\1=...", without_passwords(address)))


_IN_QUERY = re.compile(r"(?i)\b(token|key|secret|sig|signature)=[^&\s]{1,2000}")
_MARKS: Final = ("://", ":\\/\\/", "%3A%2F", "%3a%2f")


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], str], ...]]:
    return re.compile(_ADDRESS, re.I), tuple((re.compile(pattern, re.I), instead) for pattern, instead in _PASSWORDS)


def _values() -> tuple[str, ...]:
    # Every stored reply is masked, so this must be fast: reading only the names takes a seventh of the time.
    names = _key_names(tuple(os.environb))
    return _forms(frozenset(os.environb.get(name, b"") for name in names), frozenset(_known))


@lru_cache(maxsize=16)
def _key_names(names: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(name for name in names if _NAMES.search(os.fsdecode(name)))


@lru_cache(maxsize=16)
def _forms(values: frozenset[bytes], known: frozenset[str]) -> tuple[str, ...]:
    """The keys as they are, in an address, in JSON and in base64; the longest first."""
    found = {v for v in {os.fsdecode(v).strip() for v in values} | known if len(v) >= _SHORTEST}
    for value in tuple(found):
        found.update(_quoted(value))
        found.update(_in_base64(os.fsencode(value)))
    return tuple(sorted(found, key=len, reverse=True))


def _quoted(value: str) -> set[str]:
    """The key as it stands in an address and in JSON, also in JSON that stands in JSON."""
    forms = {quote(value, safe=""), quote(value), quote_plus(value)}
    forms |= {re.sub("%..", lambda found: found.group().lower(), form) for form in forms}
    inner = {value}
    for _ in range(2):
        inner |= {json.dumps(v, ensure_ascii=ascii)[1:-1] for v in inner for ascii in (True, False)}
        inner |= {v.replace("/", "\\/") for v in inner}
    return forms | inner


def _in_base64(value: bytes) -> set[str]:
    """The characters that base64 of any text with the key in it holds, by the key's place in a group of three bytes."""
    forms = {base64.b64encode(value).decode()}
    for before in range(3):
        whole = base64.b64encode(bytes(before) + value).decode()
        # Characters whose bits come from the neighbours too are left out: (0, 2, 3) at the start.
        forms.add(whole[-(-before * 8 // 6) : (before + len(value)) * 8 // 6])
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}


def origin(address: str) -> tuple[str, str, int | None]:
    """(scheme, host, port) of an address, to which a service's key is sent.

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
