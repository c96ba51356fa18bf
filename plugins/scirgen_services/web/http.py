"""The HTTP client for services, polite and safe: rate limits, Retry-After, an on-disk cache with conditional requests,
guarded downloads."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx2

from scirgen import Fetched, PaperError, SourceError, SourceSetup, __version__
from scirgen.core.files.jsonl import json_value
from scirgen.core.runtime import pause
from scirgen.core.safety.http import retry_after_s
from scirgen.core.secrets import masked_bytes, may_have_keys, shown
from scirgen.plugin import HttpConfig, PluginError, SourceRefusedError
from scirgen.stages.collect.http import Reply
from scirgen_services.web.address_guard import BlockedAddressError, GuardedTransport, ends_in
from scirgen_services.web.replies import Download, ReplyCache

T = TypeVar("T")

_MAX_REDIRECTS = 5
_LONGEST_REPLY = 64 * 1024 * 1024
_BUSY = "The service is busy, or what it gives free is used up; run again later."
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})

MEDIA_SUFFIX = {
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "text/html": ".html",
    "text/plain": ".txt",
}


@dataclass
class _Pace:
    """The time at which a host may be asked next."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_at: float = 0.0


class Http:
    """A client for catalogues and paper services; safe to use from several threads.

    Args:
        settings: contact, limits, retries.
        cache: a folder for replies and files.
        per_second: requests per second that the service allows; the user's setting overrides it.
        headers: headers with the service's keys. They are sent only to the service's own host, over https (or to this
            machine), never with a download and never to the target of a redirect.
        secret_params: parameters with keys, added to the query under the same conditions; they are kept out of the
            cache and of messages.
        service: the service's address; without it, headers and secret parameters are never sent.
        sleep: waits; replaced in tests.
    """

    def __init__(
        self,
        settings: HttpConfig,
        cache: Path,
        *,
        per_second: float = 5.0,
        headers: Mapping[str, str] | None = None,
        secret_params: Mapping[str, str] | None = None,
        service: str = "",
        sleep: Callable[[float], None] = pause,
    ) -> None:
        self.settings = settings
        self._folder = cache
        self._cache = ReplyCache(cache / "replies.db")
        self._interval = 1.0 / (settings.requests_per_second or per_second)
        self._sleep = sleep
        self._headers, self._secret, self._service = dict(headers or {}), dict(secret_params or {}), service
        self._pace: dict[str, _Pace] = {}
        self._pace_lock = threading.Lock()
        contact = f"; mailto:{settings.contact}" if settings.contact else ""
        agent = f"scirgen/{__version__} (dataset catalogues{contact})"
        self._client = httpx2.Client(
            transport=GuardedTransport(everywhere=settings.allow_private_addresses),
            headers={"User-Agent": agent, "Accept-Encoding": "gzip, deflate"},
            timeout=settings.timeout_s,
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()
        self._cache.close()

    def json(self, url: str, params: Mapping[str, str | int] | None = None) -> object:
        """See `scirgen.Http`."""
        return json_value(self.reply(url, params, check=is_json).body)

    def reply(
        self, url: str, params: Mapping[str, str | int] | None = None, *, check: Callable[[bytes], None] | None = None
    ) -> Reply:
        """See `scirgen.Http`."""
        full = str(httpx2.URL(url, params={k: str(v) for k, v in params.items()}) if params else httpx2.URL(url))
        known = self._cache.get(full)
        if known is not None and self._cache.age_days(known) < self.settings.cache_days:
            return _usable(known)
        return _usable(self._retried(lambda: self._ask(full, known, check), self.settings.retries, 60.0))

    def download(self, url: str) -> Fetched:
        """See `scirgen.Http`."""
        known = self._cache.download(url)
        files = self._folder / "files"
        if known is not None and (known.code or (files / known.name).is_file()):
            return _fetched(known, files)
        try:
            done = self._retried(lambda: self._follow(url, files), min(self.settings.retries, 2), 30.0)
        except (PaperError, SourceRefusedError) as error:
            done = Download(code=error.error_code, reason=error.message)
        self._cache.put_download(url, done)
        return _fetched(done, files)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _ask(self, url: str, known: Reply | None, check: Callable[[bytes], None] | None) -> Reply:
        own = bool(self._service) and may_have_keys(url, self._service)
        headers = dict(self._headers) if own else {}
        if known is not None and known.status == 200:
            since = {"If-None-Match": known.etag or "", "If-Modified-Since": known.modified or ""}
            headers.update({k: v for k, v in since.items() if v})
        limit = self.settings.max_file_s
        with ends_in(limit), self._stream(url, headers, self._secret if own else None) as response:
            if response.status_code == 304 and known is not None:
                return self._cache.put(known)
            _raise_for_status(response, url)
            if response.status_code in (404, 410):
                return self._cache.put(Reply(url, response.status_code, b""))
            body = masked_bytes(b"".join(_limited(response, _LONGEST_REPLY, url)))
        try:
            if check is not None:
                check(body)
        except ValueError as error:
            raise _RetryLater(SourceError(f"{shown(url)}: the reply is damaged: {error}", code="bad_reply")) from error
        found = response.headers
        return self._cache.put(Reply(url, 200, body, found.get("etag"), found.get("last-modified"), found.get("link")))

    @contextmanager
    def _stream(
        self, url: str, headers: Mapping[str, str], secret: Mapping[str, str] | None = None
    ) -> Iterator[httpx2.Response]:
        """One request, when the rate limit allows it. Transport errors become scirgen's errors."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise SourceRefusedError(f"{shown(url)}: only http and https are fetched", code="blocked_address")
        if "@" in parts.netloc:
            raise SourceRefusedError(f"{shown(url)}: the address contains a user name or password", code="bad_url")
        self._take_turn(parts.netloc)
        try:
            target = httpx2.URL(url).copy_merge_params(dict(secret)) if secret else url
            with self._client.stream("GET", target, headers=dict(headers)) as response:
                yield response
        except BlockedAddressError as error:
            raise SourceRefusedError(
                f"{shown(url)}: {error}",
                hint="To use your own mirror, set collect.http.allow_private_addresses.",
                code="blocked_address",
            ) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, ValueError) as error:
            raise SourceRefusedError(f"{shown(url)}: {error}", code="bad_url") from error
        except httpx2.HTTPError as error:
            raise _RetryLater(
                SourceError(
                    f"{urlsplit(url).netloc}: {type(error).__name__}: {error}",
                    hint="Check the connection, then run again.",
                    code="timeout" if isinstance(error, httpx2.TimeoutException) else "unreachable",
                )
            ) from error  # fmt: skip

    def _take_turn(self, host: str) -> None:
        with self._pace_lock:
            pace = self._pace.setdefault(host, _Pace())
        with pace.lock:
            wait = pace.next_at - time.monotonic()
            if wait > 0:
                self._sleep(wait)
            pace.next_at = time.monotonic() + self._interval

    def _retried(self, ask: Callable[[], T], most: int, longest_s: float) -> T:
        """Return the result of a request, asked again at most so often, after a wait that doubles up to the longest."""
        attempt = 0
        while True:
            try:
                return ask()
            except _RetryLater as error:
                wait = error.after if error.after is not None else min(2.0**attempt, longest_s)
                attempt += 1
                if attempt > most or wait > self.settings.max_wait_s:
                    raise error.final from error
                self._sleep(wait)

    def _follow(self, url: str, files: Path) -> Download:
        ends = time.monotonic() + self.settings.max_file_s
        for _ in range(_MAX_REDIRECTS + 1):
            left = ends - time.monotonic()
            with ends_in(left), self._stream(url, {"Accept": "application/pdf, */*;q=0.5"}) as response:
                if response.has_redirect_location:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.status_code in (401, 402, 403):
                    raise PaperError(f"{shown(url)}: access is refused (HTTP {response.status_code})", code="no_access")
                if response.status_code in (404, 410):
                    raise PaperError(f"{shown(url)}: the file does not exist", code="not_found")
                _raise_for_status(response, url)
                return self._save(response, url, files, ends)
        raise PaperError(f"{shown(url)}: more than {_MAX_REDIRECTS} redirects", code="too_many_redirects")

    def _save(self, response: httpx2.Response, url: str, files: Path, ends: float) -> Download:
        """Write the body under its content hash: first to a temporary file, which is renamed when it is complete."""
        files.mkdir(parents=True, exist_ok=True)
        limit = int(self.settings.max_file_mb * 1e6)
        handle, temporary = tempfile.mkstemp(dir=files, prefix=".part-")
        try:
            hashed, head = hashlib.sha256(), b""
            with os.fdopen(handle, "wb") as file:
                for chunk in _limited(response, limit, url):
                    if time.monotonic() > ends:
                        raise PaperError(
                            f"{shown(url)}: took longer than {self.settings.max_file_s:g} s", code="timeout"
                        )
                    head = head if len(head) >= 1024 else (head + chunk)[:1024]
                    hashed.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            media_type = sniff(head)
            if media_type == "text/html":
                raise PaperError(
                    f"{shown(url)}: the server sent an HTML page instead of the paper (a login page?)", code="not_a_pdf"
                )
            if not head:
                raise PaperError(f"{shown(url)}: the file is empty", code="damaged")
            name = hashed.hexdigest() + MEDIA_SUFFIX[media_type]
            Path(temporary).replace(files / name)
        finally:
            Path(temporary).unlink(missing_ok=True)
        return Download(name, media_type)


def open_http(
    setup: SourceSetup,
    *,
    per_second: float = 5.0,
    headers: Mapping[str, str] | None = None,
    secret_params: Mapping[str, str] | None = None,
    service: str = "",
) -> Http:
    """See `scirgen.open_http`."""
    if (headers or secret_params) and not service:
        raise PluginError(
            "open_http has keys (headers, secret_params) but no service that they belong to",
            hint="Pass service=BASE_URL; keys are sent only to its host.",
        )
    return Http(
        setup.http, setup.cache, per_second=per_second, headers=headers, secret_params=secret_params, service=service
    )


def sniff(head: bytes) -> str:
    """Return the media type according to a file's first bytes: PDF, HTML, XML or plain text."""
    if b"%PDF-" in head[:1024]:
        return "application/pdf"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    if re.match(rb"<!doctype html|<html|<head|<body", start) or b"<html" in start:
        return "text/html"
    return (
        "application/xml" if start.startswith((b"<?xml", b"<article", b"<tei", b"<!doctype article")) else "text/plain"
    )


class _RetryLater(Exception):
    """A retry may help, after so many seconds; ``final`` is raised if no retries remain."""

    def __init__(self, final: SourceError, after: float | None = None) -> None:
        super().__init__(final.message)
        self.final = final
        self.after = after


def _raise_for_status(response: httpx2.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 404, 410):
        return
    host = urlsplit(url).netloc
    if status in _MAY_PASS:
        code = "rate_limited" if status == 429 else f"http_{status}"
        error = SourceError(f"{host}: HTTP {status}", hint=_BUSY, code=code)
        raise _RetryLater(error, retry_after_s(response.headers.get("retry-after")))
    if response.has_redirect_location:
        raise SourceRefusedError(f"{shown(url)}: moved to {shown(response.headers['location'])}", code="moved")
    hint = "Check the query and options."
    if status in (401, 402, 403):
        hint = "The service wants a key, or what it gives free is used up: set the key that docs/sources.md names."
    raise SourceRefusedError(f"{shown(url)}: HTTP {status}", hint=hint, code=f"http_{status}")


def _limited(response: httpx2.Response, limit: int, url: str) -> Iterator[bytes]:
    """Yield the decoded body, at most ``limit`` bytes. The unpacked size of a compressed reply counts."""
    too_large = SourceRefusedError(f"{shown(url)}: larger than {limit / 1e6:g} MB", code="too_large")
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    received = size = 0
    # Chunks are read as they arrive: with a fixed size, slow bytes would delay the checks.
    unpack = _unpacker(response, url)
    for raw in response.iter_raw():
        received += len(raw)
        chunk = raw if unpack is None else _unpacked(unpack, raw, limit - size + 1, url)
        size += len(chunk)
        if size > limit or received > limit:
            raise too_large
        if chunk:
            yield chunk
    if unpack is not None and received and not unpack.eof:
        raise _RetryLater(SourceError(f"{shown(url)}: the reply is truncated", code="bad_reply"))


def _unpacker(response: httpx2.Response, url: str) -> Any:
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise SourceRefusedError(f"{shown(url)}: compressed with a method that was not requested", code="bad_reply")
    return zlib.decompressobj(47)  # zlib detects a gzip or a zlib header itself


def _unpacked(unpack: Any, raw: bytes, most: int, url: str) -> bytes:
    try:
        found: bytes = unpack.decompress(raw, most)
    except zlib.error as error:
        raise _RetryLater(SourceError(f"{shown(url)}: the reply is damaged: {error}", code="bad_reply")) from error
    return found


def _usable(reply: Reply) -> Reply:
    if reply.status in (404, 410):
        raise SourceRefusedError(f"{shown(reply.url)}: the item does not exist", code="http_404")
    return reply


def _fetched(done: Download, files: Path) -> Fetched:
    if done.code:
        return Fetched(code=done.code, reason=done.reason)
    return Fetched(file=files / done.name, media_type=done.media_type)


def is_json(body: bytes) -> None:
    """Raise ValueError for a body that is not complete JSON; a ``check`` for `Http.reply`."""
    json_value(body)


def is_xml(body: bytes) -> None:
    """Raise ValueError for a body that is not complete XML; a ``check`` for `Http.reply`.

    Raises:
        SourceRefusedError: it declares a document type, and with it possibly entities.
    """
    from defusedxml import DefusedXmlException, ElementTree

    try:
        ElementTree.fromstring(body, forbid_dtd=True)
    except DefusedXmlException as error:
        problem = f"the reply declares a document type, which is refused: {error}"
        raise SourceRefusedError(problem, code="unsafe_xml") from error
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
