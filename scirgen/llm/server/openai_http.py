"""The HTTP of an OpenAI-compatible server, on aiohttp: JSON in, JSON out, every fault one of our errors. Never puts a key into a message.

The openai SDK is not used: building its typed requests costs a client two to five times the processor time of the request itself
(`docs/benchmarks/throughput.md`), and of its own the pipeline needs only "post this JSON". Retries are `endpoints`.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import (
    ContextTooLongError,
    ModelAccessError,
    ModelError,
    RateLimitedError,
    ServerUnavailableError,
)
from scirgen.core.fingerprint import encoded
from scirgen.llm.uri import ModelURI

HOSTED: Final = "https://api.openai.com/v1"
"""Where `openai:NAME` without an address goes, unless OPENAI_BASE_URL says otherwise."""

_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|maximum.{0,20}(tokens|length)|too (long|many tokens)", re.I)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.I)
_KEY = re.compile(r"\b(sk-|key-|Bearer )[A-Za-z0-9_\-.*]{4,}")
_GONE = re.compile(r"model.{0,60}(not found|does not exist|not loaded|unloaded|not exist)|unknown model", re.I | re.S)


class OpenAIServer:
    """One server. Its connections are opened on first use; any number of requests may be in flight.

    Args:
        base_url: ends in /v1, or what the server asks for.
        key: sent as a bearer token.
        timeout_s: for a whole request, from its first byte sent to the reply's last one received.
        where: names the model in messages.
    """

    def __init__(self, base_url: str, key: str, *, timeout_s: float, where: str) -> None:
        self.base_url = base_url.rstrip("/")
        self._where = where
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._headers = {"Authorization": f"Bearer {key}"}
        for header, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
            if os.environ.get(variable):
                self._headers[header] = os.environ[variable]
        self._session: aiohttp.ClientSession | None = None

    def __str__(self) -> str:
        return self.base_url

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The parsed JSON of the answer to a POST of ``body``.

        Raises:
            ModelError: see `status_error`; a fault of the connection, a time-out and an answer that is no JSON are
                `ServerUnavailableError`.
        """
        return await self.request("POST", path, data=encoded(body), content_type="application/json")

    async def get(self, path: str) -> Any:
        """The parsed JSON of the answer to a GET; raises as `post` does."""
        return await self.request("GET", path)

    async def request(self, method: str, path: str, *, data: Any = None, content_type: str | None = None) -> Any:
        """Any request whose answer is JSON; raises as `post` does."""
        answer = await self.fetch(method, path, data=data, content_type=content_type)
        try:
            return json.loads(answer)
        except ValueError:
            raise ServerUnavailableError(
                f"{self._where}: the server's answer is no valid JSON", hint="Run again to retry it."
            ) from None

    async def fetch(self, method: str, path: str, *, data: Any = None, content_type: str | None = None) -> bytes:
        """The body of an answer as it comes; raises as `post` does. ``path`` follows the base address, or is a whole address."""
        headers = {"Content-Type": content_type} if content_type else None
        url = path if "://" in path else self.base_url + path
        try:
            async with self._opened().request(method, url, data=data, headers=headers) as answer:
                received = await answer.read()
        except TimeoutError:
            raise ServerUnavailableError(
                f"{self._where}: no answer in time", hint="Raise limits.timeout_s, or lower limits.concurrency."
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            what = _clean(str(error)) or type(error).__name__
            raise ServerUnavailableError(
                f"{self._where}: no connection: {what}", hint="Is the server running, and is its address right?"
            ) from None
        if answer.status >= 400:
            raise status_error(answer.status, received, answer.headers.get("Retry-After"), self._where)
        return received

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # No pool limit: how much is in flight is decided in `endpoints`, and time in our own queue must not count
                # as the server's time-out.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                headers=self._headers,
                proxy=_proxy(self.base_url),
            )
        return self._session

    async def list_models(self) -> dict[str, int | None]:
        """Names the server lists, with their window where it says so; {} where it has no such list.

        Raises:
            ModelAccessError: the key is refused.
            ServerUnavailableError: nobody answers.
        """
        try:
            page = await self.get("/models")
        except ModelAccessError as error:
            if isinstance(error, NotFoundError):
                return {}
            raise
        except (RefusedRequestError, RateLimitedError, ServerErrorStatus):
            return {}
        listed = page.get("data") if isinstance(page, dict) else None
        return {
            str(m["id"]): window if isinstance(window := m.get("max_model_len"), int) else None
            for m in listed or ()
            if isinstance(m, dict) and "id" in m
        }

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def open_servers(uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> list[OpenAIServer]:
    """One `OpenAIServer` an address of the URI.

    Raises:
        ModelAccessError: no key in the environment, and the server is not one of your own.
    """
    variable = str(models.options.get("api_key_env", "OPENAI_API_KEY"))
    key = os.environ.get(variable, "").strip()
    urls = [*uri.urls] or [os.environ.get("OPENAI_BASE_URL") or HOSTED]
    if not key and any((urlsplit(url).hostname or "").endswith("openai.com") for url in urls):
        raise ModelAccessError(
            f"{uri}: no key in the environment variable {variable}",
            hint=f"Set {variable}, or name a server of your own: openai:NAME@http://HOST:PORT/v1",
        )
    return [OpenAIServer(url, key or "none", timeout_s=limits.timeout_s, where=str(uri)) for url in urls]


class RefusedRequestError(ModelError):
    """Another 4xx: the server does not take the request as it is, and would not on the next try."""

    code = "request_refused"
    retryable = False


class NotFoundError(ModelAccessError):
    """404: no such model, or no such path."""


class ServerErrorStatus(ServerUnavailableError):
    """The server is there, and answers with 5xx (or 408, 409)."""


def status_error(status: int, received: bytes, retry_after: str | None, where: str) -> ModelError:
    """Our error for an answer with a status of 400 or more; ``where`` is the model's URI.

    401, 403 and an unknown model are fatal (`ModelAccessError`); 429 is `RateLimitedError`, with the server's Retry-After; 5xx,
    408, 409 are `ServerUnavailableError`; a prompt that does not fit is `ContextTooLongError`; any other 4xx is a plain, not
    retryable `RefusedRequestError`.
    """
    said, code = _said(received)
    if status in (401, 403):
        return ModelAccessError(
            f"{where}: access denied (HTTP {status}): {said}",
            hint="Check the key in OPENAI_API_KEY (or the variable that models.options.api_key_env names).",
        )
    if status == 404 or (status in (400, 422) and _GONE.search(said)):
        return NotFoundError(
            f"{where}: not found (HTTP {status}): {said}",
            hint="Check the model's name and that the address ends in /v1 (or what your server asks for).",
        )
    if status == 429:
        if _QUOTA.search(said) or "insufficient_quota" in code:
            return ModelAccessError(f"{where}: the account's quota is used up: {said}", hint="Check plan and billing.")
        return RateLimitedError(
            f"{where}: rate limited: {said}", retry_after=retry_after_s(retry_after),
            hint="Lower limits.concurrency or set limits.requests_per_minute.",
        )  # fmt: skip
    if status >= 500 or status in (408, 409):
        return ServerErrorStatus(f"{where}: HTTP {status}: {said}", hint="Run again to retry it.")
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return ContextTooLongError(f"{where}: {said}", hint="Use a model with a longer context window.")
    return RefusedRequestError(f"{where}: HTTP {status}: {said}", hint="The server refuses this request as it is.")


def retry_after_s(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (a number or an HTTP date); None where it says nothing usable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def _said(received: bytes) -> tuple[str, str]:
    """Message and code of an error's body: OpenAI's form, a plain "message" or "detail", or the text itself."""
    text = received.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        return _clean(text), ""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return _clean(str(error)), ""
    message = error.get("message") or error.get("detail") or text
    return _clean(str(message)), f"{error.get('code') or ''} {error.get('type') or ''}"


def _clean(text: str) -> str:
    return _KEY.sub("[key]", " ".join(text.split()))[:300]


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address. Asked once: aiohttp's ``trust_env`` would ask for every request."""
    parts = urlsplit(url)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)
