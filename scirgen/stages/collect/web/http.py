"""Talking to services politely and safely: rate limits, Retry-After, an on-disk cache with conditional requests, guarded downloads."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx2

from scirgen.core.config import HttpConfig
from scirgen.core.errors import PaperError, SourceError, SourceRefusedError
from scirgen.core.http import retry_after_s
from scirgen.core.version import __version__
from scirgen.stages.collect.source import Fetched, SourceSetup
from scirgen.stages.collect.web.address_guard import BlockedAddressError, GuardedTransport
from scirgen.stages.collect.web.replies import Download, Reply, ReplyCache

_LONGEST_REPLY = 64 * 1024 * 1024
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})
_CHUNK = 64 * 1024
_SECRET = re.compile(r"(?i)\b(api[_-]?key|access[_-]?token|token|key)=[^&\s]+")

MEDIA_SUFFIX = {
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "text/html": ".html",
    "text/plain": ".txt",
}


@dataclass
class _Pace:
    """When a host may be asked next."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_at: float = 0.0


class Http:
    """A client for catalogues and paper services; safe to use from several threads.

    Args:
        settings: contact, limits, retries.
        cache: a folder for replies and files.
        per_second: requests a second that the service asks to keep to; a setting of the user goes before it.
        headers: sent with every request.
        secret_params: added to the query of every request, and kept out of the cache and of messages.
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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self._folder = cache
        self._cache = ReplyCache(cache / "replies.db")
        self._interval = 1.0 / (settings.requests_per_second or per_second)
        self._sleep = sleep
        self._secret = dict(secret_params or {})
        self._pace: dict[str, _Pace] = {}
        self._pace_lock = threading.Lock()
        contact = f"; mailto:{settings.contact}" if settings.contact else ""
        agent = f"scirgen/{__version__} (dataset catalogues{contact})"
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport() if settings.allow_private_addresses else GuardedTransport(),
            headers={"User-Agent": agent, **(headers or {})},
            timeout=settings.timeout_s,
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()
        self._cache.close()

    def json(self, url: str, params: Mapping[str, str | int] | None = None, *, refresh: bool = False) -> object:
        """A JSON reply.

        Raises:
            SourceError: it could not be had; whether another try may help is in its class.
        """
        return json.loads(self.reply(url, params, refresh=refresh, check=is_json).body)

    def reply(
        self,
        url: str,
        params: Mapping[str, str | int] | None = None,
        *,
        refresh: bool = False,
        check: Callable[[bytes], None] | None = None,
    ) -> Reply:
        """A reply, from the cache while it is fresh, else from the service (conditionally, if it was had before).

        Args:
            url: http or https.
            params: of the query.
            refresh: ask the service even while the cached reply is fresh.
            check: raises ValueError for a body that is cut short or not what it should be; such a reply is asked for again.

        Raises:
            SourceError: unreachable, overloaded or cut short, after the retries (``unreachable``, ``rate_limited``, ``http_503``,
                ``bad_reply``).
            SourceRefusedError: the service said no (``http_404``...), or the address is not allowed (``blocked_address``).
        """
        full = str(httpx2.URL(url, params={k: str(v) for k, v in params.items()}) if params else httpx2.URL(url))
        known = self._cache.get(full)
        if known is not None and not refresh and self._cache.age_days(known) < self.settings.cache_days:
            return _usable(known)
        attempt = 0
        while True:
            try:
                return _usable(self._ask(full, known, check))
            except _RetryLater as error:
                wait = error.after if error.after is not None else min(2.0**attempt, 60.0)
                attempt += 1
                if attempt > self.settings.retries or wait > self.settings.max_wait_s:
                    raise error.final from error
                self._sleep(wait)

    def download(self, url: str, *, wanted: str = "application/pdf") -> Fetched:
        """A paper's file, kept under its content hash; one that was had before is not downloaded again.

        Args:
            url: http or https; redirects are followed a few times and checked again each.
            wanted: the media type expected; a page of HTML instead is ``not_a_pdf``.

        Returns:
            The file, or a code and reason why not: ``not_found``, ``no_access``, ``not_a_pdf``, ``too_large``, ``timeout``,
            ``blocked_address``, ``too_many_redirects``.

        Raises:
            SourceError: another try may help (unreachable, 5xx, cut short).
        """
        known = self._cache.download(url)
        files = self._folder / "files"
        if known is not None and (known.code or (files / known.name).is_file()):
            return _fetched(known, files)
        try:
            done = self._download(url, files, wanted)
        except PaperError as error:
            done = Download(code=error.error_code, reason=error.message)
        self._cache.put_download(url, done)
        return _fetched(done, files)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _ask(self, url: str, known: Reply | None, check: Callable[[bytes], None] | None) -> Reply:
        headers = {}
        if known is not None and known.status == 200:
            headers = {"If-None-Match": known.etag or "", "If-Modified-Since": known.modified or ""}
            headers = {k: v for k, v in headers.items() if v}
        with self._stream(url, headers, self._secret) as response:
            if response.status_code == 304 and known is not None:
                return self._cache.put(known)
            _raise_for_status(response, url)
            if response.status_code in (404, 410):
                return self._cache.put(Reply(url, response.status_code, b""))
            body = b"".join(_limited(response, _LONGEST_REPLY, url))
        try:
            if check is not None:
                check(body)
        except ValueError as error:
            raise _RetryLater(SourceError(f"{_shown(url)}: the reply is damaged: {error}", code="bad_reply")) from error
        found = response.headers
        return self._cache.put(Reply(url, 200, body, found.get("etag"), found.get("last-modified"), found.get("link")))

    @contextmanager
    def _stream(
        self, url: str, headers: Mapping[str, str], secret: Mapping[str, str] | None = None
    ) -> Iterator[httpx2.Response]:
        """One request, in its turn; what goes wrong on the way becomes one of our errors."""
        scheme = urlsplit(url).scheme
        if scheme not in ("http", "https"):
            raise SourceRefusedError(f"{_shown(url)}: only http and https are fetched", code="blocked_address")
        self._take_turn(urlsplit(url).netloc)
        try:
            target = httpx2.URL(url).copy_merge_params(dict(secret)) if secret else url
            with self._client.stream("GET", target, headers=dict(headers)) as response:
                yield response
        except BlockedAddressError as error:
            raise SourceRefusedError(
                f"{_shown(url)}: {error}",
                hint="Set collect.http.allow_private_addresses to talk to a mirror of your own.",
                code="blocked_address",
            ) from error
        except httpx2.InvalidURL as error:
            raise SourceRefusedError(f"{_shown(url)}: {error}", code="bad_url") from error
        except httpx2.HTTPError as error:
            raise _RetryLater(
                SourceError(
                    f"{urlsplit(url).netloc}: {type(error).__name__}: {error}", hint="Check the connection, then run again.",
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

    def _download(self, url: str, files: Path, wanted: str) -> Download:
        attempt = 0
        while True:
            try:
                return self._follow(url, files, wanted)
            except _RetryLater as error:
                wait = error.after if error.after is not None else min(2.0**attempt, 30.0)
                attempt += 1
                if attempt > min(self.settings.retries, 2) or wait > self.settings.max_wait_s:
                    raise error.final from error
                self._sleep(wait)
            except SourceRefusedError as error:
                raise PaperError(error.message, hint=error.hint, code=error.error_code) from error

    def _follow(self, url: str, files: Path, wanted: str) -> Download:
        for _ in range(self.settings.max_redirects + 1):
            with self._stream(url, {"Accept": f"{wanted}, */*;q=0.5"}) as response:
                if response.has_redirect_location:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.status_code in (401, 402, 403):
                    raise PaperError(
                        f"{_shown(url)}: access is refused (HTTP {response.status_code})", code="no_access"
                    )
                if response.status_code in (404, 410):
                    raise PaperError(f"{_shown(url)}: there is no such file", code="not_found")
                _raise_for_status(response, url)
                return self._save(response, url, files, wanted)
        raise PaperError(f"{_shown(url)}: more than {self.settings.max_redirects} redirects", code="too_many_redirects")

    def _save(self, response: httpx2.Response, url: str, files: Path, wanted: str) -> Download:
        """Write the body under its content hash: first to a temporary file, which becomes the real one only when it is whole."""
        files.mkdir(parents=True, exist_ok=True)
        limit, ends = int(self.settings.max_file_mb * 1e6), time.monotonic() + self.settings.max_file_s
        handle, temporary = tempfile.mkstemp(dir=files, prefix=".part-")
        try:
            hashed, head = hashlib.sha256(), b""
            with os.fdopen(handle, "wb") as file:
                for chunk in _limited(response, limit, url):
                    if time.monotonic() > ends:
                        raise PaperError(f"{_shown(url)}: took over {self.settings.max_file_s:g} s", code="timeout")
                    head = head if len(head) >= 1024 else (head + chunk)[:1024]
                    hashed.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            media_type = sniff(head)
            if wanted == "application/pdf" and media_type == "text/html":
                raise PaperError(
                    f"{_shown(url)}: an HTML page came instead of the paper (a login page?)", code="not_a_pdf"
                )
            if not head:
                raise PaperError(f"{_shown(url)}: the file is empty", code="damaged")
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
) -> Http:
    """The client of a source or paper service, with the run's settings and cache."""
    return Http(setup.http, setup.cache, per_second=per_second, headers=headers, secret_params=secret_params)


def sniff(head: bytes) -> str:
    """The media type that a file's first bytes show: PDF, HTML, XML or plain text."""
    if b"%PDF-" in head[:1024]:
        return "application/pdf"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    if re.match(rb"<!doctype html|<html|<head|<body", start) or b"<html" in start:
        return "text/html"
    return (
        "application/xml" if start.startswith((b"<?xml", b"<article", b"<tei", b"<!doctype article")) else "text/plain"
    )


class _RetryLater(Exception):
    """Another try may help, after so many seconds; ``final`` is what is raised when there are no tries left."""

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
        error = SourceError(f"{host}: HTTP {status}", hint="The service is busy; run again later.", code=code)
        raise _RetryLater(error, retry_after_s(response.headers.get("retry-after")))
    if response.has_redirect_location:
        raise SourceRefusedError(f"{_shown(url)}: moved to {_shown(response.headers['location'])}", code="moved")
    raise SourceRefusedError(
        f"{_shown(url)}: HTTP {status}", hint="Check the query and options.", code=f"http_{status}"
    )


def _limited(response: httpx2.Response, limit: int, url: str) -> Iterator[bytes]:
    """The decoded body, never more than ``limit`` bytes of it: what a compressed reply unpacks to counts."""
    too_large = SourceRefusedError(f"{_shown(url)}: larger than {limit / 1e6:g} MB", code="too_large")
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    size = 0
    for chunk in response.iter_bytes(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise too_large
        yield chunk


def _usable(reply: Reply) -> Reply:
    if reply.status in (404, 410):
        raise SourceRefusedError(f"{_shown(reply.url)}: there is no such item", code="http_404")
    return reply


def _fetched(done: Download, files: Path) -> Fetched:
    if done.code:
        return Fetched(code=done.code, reason=done.reason)
    return Fetched(file=files / done.name, media_type=done.media_type)


def is_json(body: bytes) -> None:
    """Raises ValueError for a body that is not whole JSON; a ``check`` for `Http.reply`."""
    json.loads(body)


def _shown(url: str) -> str:
    """A URL for a message, without secrets."""
    return _SECRET.sub(r"\1=...", url)
