"""An OpenAI-compatible server through the openai client: its addresses, keys, headers, Azure's dialect, proxies and
certificates.

It uses the client's low-level requests (JSON in, JSON out), since typed requests cost two to five times the processor
time (`docs/benchmarks/throughput.md`). It adds limits on time and size, and maps errors (`server_errors`). `endpoints`
retries.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx2
import openai

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError, RateLimitedError, ServerUnavailableError
from scirgen.core.secrets import secret_from_environment
from scirgen.llm.server.keys import address_without_url, at_address, azure_token, key_for, refuse_http
from scirgen.llm.server.server_errors import (
    NotFoundError,
    RefusedRequestError,
    ReplyTooLargeError,
    ServerErrorStatus,
    SlowServerError,
    connection_error,
    status_error,
)
from scirgen.llm.uri import ModelURI

R = TypeVar("R")

HTTP_CLIENT: type[httpx2.AsyncClient] = (
    openai.DefaultAioHttpClient if find_spec("aiohttp") else openai.DefaultAsyncHttpxClient
)
"""The client's aiohttp transport needs half the processor time of the default one; it is used if ``scirgen[fast]`` is
installed."""

_BROKEN: tuple[type[Exception], ...] = (openai.APIConnectionError, httpx2.HTTPError, OSError)
if find_spec("aiohttp"):
    import aiohttp

    _BROKEN = (*_BROKEN, aiohttp.ClientError)  # the transport passes on what aiohttp says of an answer that is not HTTP

_CONNECT_S: Final = 30.0
"""Time in seconds for a connection. A server that accepts none is down; one that accepts and is silent is slow."""

_LIST_S: Final = 30.0
"""Time in seconds for the list of models, which even a busy server has at hand."""

MAX_WINDOW: Final = 2**31
"""A longer context window in a server's answer is ignored."""

_MAX_FILE: Final = 512 * 2**20
"""Bytes of a batch's result file: up to 50,000 replies."""

_NO_LIMIT: Final = 10**6
"""Number of connections; None would mean 100 to the aiohttp transport, and 0 would mean none to the other."""

_ABOUT_THIS_MACHINE: Final = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""The client's own headers X-Stainless-...; they are left out, since they take time in each request and no server needs
them."""

_REQUEST_IDS: Final = ("x-request-id", "apim-request-id", "x-ms-request-id")
_SECRET_HEADERS: Final = frozenset({"authorization", "api-key", "x-api-key", "proxy-authorization", "cookie"})


@dataclass(frozen=True)
class Access:
    """Address, key and dialect of one server.

    Attributes:
        url: as the user wrote it; its query is sent with every request.
        key: sent as a bearer token, to Azure as ``api-key``.
        headers, query: sent with every request.
        azure: use Azure's dialect, which puts the deployment into the path and needs an ``api-version``.
        token: a Microsoft Entra token, instead of Azure's key.
    """

    url: str
    key: str = "none"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    azure: bool = False
    token: str | None = None


class OpenAIServer:
    """One server. Its connections are opened on first use; any number of requests may be in flight.

    Args:
        access: address, key and dialect.
        limits: ``timeout_s`` for a whole request, from the first byte sent to the last byte received, even while bytes
            keep arriving; ``max_reply_mb``.
        where: names the model in messages.
    """

    def __init__(self, access: Access, limits: LimitsConfig, *, where: str) -> None:
        self.base_url = access.url.partition("?")[0].rstrip("/")
        self._access = access
        self._timeout_s = limits.timeout_s
        self._most = int(limits.max_reply_mb * 1e6)
        self._where = where
        self._client: openai.AsyncOpenAI | None = None

    def __str__(self) -> str:
        return self.base_url

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the parsed JSON of the answer to a POST of ``body``; ``path`` follows the base address, or is a whole
        address.

        Raises:
            ModelError: see `status_error` and `connection_error`; a time-out is `SlowServerError`, an answer that is
                not JSON `ServerUnavailableError`, an answer past the size limit is `ReplyTooLargeError`.
        """
        return self._json(await self._asked(path, lambda client: client.post(path, body=body, cast_to=httpx2.Response)))

    async def get(self, path: str, timeout_s: float = math.inf) -> Any:
        """Return the parsed JSON of the answer to a GET; raises the same errors as `post`."""
        return self._json(await self._asked(path, lambda client: client.get(path, cast_to=httpx2.Response), timeout_s))

    async def ask(self, call: Callable[[openai.AsyncOpenAI], Awaitable[Any]]) -> dict[str, Any]:
        """Return the JSON object that one of the client's ``with_raw_response`` calls returns; raises the same errors
        as `post`."""
        found = self._json((await self._asked("the Batch API", call)).http_response)
        if not isinstance(found, dict):
            raise self._unreadable("not a JSON object")
        return found

    async def content(self, file_id: str) -> bytes:
        """Return a file's content; raises the same errors as `post`."""
        answer = await self._asked("a file", lambda client: client.files.content(file_id))
        return bytes(answer.content)

    async def _asked(
        self, what: str, call: Callable[[openai.AsyncOpenAI], Awaitable[R]], timeout_s: float = math.inf
    ) -> R:
        seconds = min(timeout_s, self._timeout_s)
        try:
            # The client's own time limit restarts with every byte, so only its limit on connecting is on.
            async with asyncio.timeout(seconds):
                return await call(self._opened())
        except TimeoutError:
            raise SlowServerError(
                f"{self._where}: no answer in time: waited {seconds:g} s for {what} (limits.timeout_s)",
                hint="Raise limits.timeout_s, or lower limits.concurrency.",
            ) from None
        except openai.APIStatusError as error:
            answer = error.response
            request_id = next((answer.headers[name] for name in _REQUEST_IDS if name in answer.headers), None)
            raise status_error(
                answer.status_code,
                answer.content,
                answer.headers.get("retry-after"),
                self._where,
                request_id=request_id,
            ) from None
        except _BROKEN as error:
            raise connection_error(error, self._where) from None

    def _json(self, answer: httpx2.Response) -> Any:
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError):
            raise self._unreadable("not valid JSON") from None

    def _unreadable(self, why: str) -> ServerUnavailableError:
        return ServerUnavailableError(
            f"{self._where}: the server's answer is {why}", hint="Run again to retry it.", code="unreadable_answer"
        )

    def _opened(self) -> openai.AsyncOpenAI:
        if self._client is None:
            self._client = _client(self._access, self._bound)
        return self._client

    async def _bound(self, answer: httpx2.Response) -> None:
        """Count the size of an answer's body as it arrives and as it is decompressed; called with its headers."""
        most = _MAX_FILE if answer.request.url.path.endswith("/content") else self._most
        length, coding = answer.headers.get("content-length", ""), answer.headers.get("content-encoding", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise self._too_large(most)
        if coding not in ("", "identity", "gzip", "deflate"):
            raise self._unreadable("compressed with a method that was not requested")
        answer.stream = _Bounded(answer.stream, most, coding, self._too_large)  # type: ignore[arg-type]
        if coding:
            del answer.headers["content-encoding"]

    def _too_large(self, most: int) -> ReplyTooLargeError:
        return ReplyTooLargeError(
            f"{self._where}: the server's answer is larger than {most / 1e6:g} MB",
            hint="If such answers are expected, raise limits.max_reply_mb.",
        )

    async def list_models(self) -> dict[str, int | None]:
        """Return the names of the server's models, with their windows if given; {} if the server has no such list.

        Raises:
            ModelAccessError: the key is refused.
            ServerUnavailableError: no server answers.
        """
        try:
            page = await self.get("/models", _LIST_S)
        except ModelAccessError as error:
            if isinstance(error, NotFoundError):
                return {}
            raise
        except (RefusedRequestError, RateLimitedError, ServerErrorStatus):
            return {}
        listed = page.get("data") if isinstance(page, dict) else None
        return {
            str(m["id"]): w if isinstance(w := m.get("max_model_len"), int) and 0 < w < MAX_WINDOW else None
            for m in (listed if isinstance(listed, list) else ())
            if isinstance(m, dict) and "id" in m
        }

    async def windows(self) -> dict[str, int | None]:
        """Like `list_models`, but return {} if the server is too slow to answer."""
        try:
            return await self.list_models()
        except SlowServerError:
            return {}

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None


class _Bounded(httpx2.AsyncByteStream):
    """An answer's decompressed body, with at most ``most`` bytes in memory."""

    def __init__(
        self, body: httpx2.AsyncByteStream, most: int, coding: str, too_large: Callable[[int], Exception]
    ) -> None:
        self._body, self._most, self._coding, self._too_large = body, most, coding, too_large

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = made = 0
        # 47: zlib detects a gzip or a zlib header itself.
        unpack = zlib.decompressobj(47) if self._coding in ("gzip", "deflate") else None
        async for chunk in self._body:
            received += len(chunk)
            if received > self._most:
                raise self._too_large(self._most)
            if unpack is not None:
                try:
                    chunk = unpack.decompress(chunk, self._most - made + 1)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from error
                made += len(chunk)
                if made > self._most:
                    raise self._too_large(self._most)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


def _client(access: Access, bound: Callable[[httpx2.Response], Awaitable[None]]) -> openai.AsyncOpenAI:
    address = urlsplit(access.url)
    query = {**dict(parse_qsl(address.query)), **access.query}
    base_url = address._replace(query="").geturl()
    # No pool limit: `endpoints` limits the calls in flight, and time in our own queue must not count as the server's
    # timeout. A redirect is an error, because it would also send the key.
    connecting = httpx2.Timeout(None, connect=_CONNECT_S)
    http = HTTP_CLIENT(
        timeout=connecting,
        limits=httpx2.Limits(max_connections=_NO_LIMIT, max_keepalive_connections=_NO_LIMIT),
        follow_redirects=False,
        event_hooks={"response": [bound]},
    )
    unsent = {f"X-Stainless-{name}": openai.omit for name in _ABOUT_THIS_MACHINE}
    headers: dict[str, Any] = {"Accept-Encoding": "gzip, deflate", **unsent, **access.headers}
    if not access.azure:
        return openai.AsyncOpenAI(
            base_url=base_url, api_key=access.key, max_retries=0, timeout=connecting, http_client=http,
            default_headers=headers, default_query=query,
        )  # fmt: skip
    version = query.pop("api-version", None)
    # The resource's address, or an address with a path (a gateway, a deployment).
    place: dict[str, Any] = {"base_url": base_url} if address.path.strip("/") else {"azure_endpoint": base_url}
    return openai.AsyncAzureOpenAI(
        **place, api_version=version, azure_ad_token=access.token, api_key=None if access.token else access.key,
        max_retries=0, timeout=connecting, http_client=http, default_headers=headers, default_query=query,
    )  # fmt: skip


def open_servers(uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> list[OpenAIServer]:
    """Return one `OpenAIServer` per address of the URI.

    Raises:
        ModelAccessError, ConfigError: see `keys.key_for`; an option cannot be used, or Azure's ``api-version`` is
        missing.
    """
    query = _mapping(models.options.get("extra_query"), "extra_query", lambda _, value: value)
    servers = []
    for url in uri.urls or (address_without_url(uri),):
        headers = _headers(models, url)
        azure = uri.scheme == "azure" or _speaks_azure(url)
        token = azure_token(url) if azure else ""
        key = "" if token else key_for(uri, url, models, azure=azure)
        access = Access(
            url, key or "none", headers, _versioned(uri, url, query) if azure else query, azure, token or None
        )
        servers.append(OpenAIServer(access, limits, where=str(uri)))
    return servers


def _speaks_azure(url: str) -> bool:
    """Check whether a server speaks Azure's dialect: it has an ``api-version`` and no version in the path (Azure's
    newer API, .../openai/v1, is OpenAI's own)."""
    parts = urlsplit(url)
    return "api-version" in dict(parse_qsl(parts.query)) and not parts.path.rstrip("/").endswith("/v1")


def _versioned(uri: ModelURI, url: str, query: Mapping[str, str]) -> Mapping[str, str]:
    """Return the query with Azure's ``api-version``, from the address, the options or the environment."""
    version = dict(parse_qsl(urlsplit(url).query)).get("api-version") or query.get("api-version")
    version = version or os.environ.get("OPENAI_API_VERSION", "").strip()
    if not version:
        raise ConfigError(
            f"{uri}: Azure needs an api-version",
            hint="Add it to the address, ...?api-version=2024-10-21, or set OPENAI_API_VERSION.",
        )
    return {**query, "api-version": version}


def _headers(models: ModelsConfig, url: str) -> dict[str, str]:
    """Return the extra headers for one address. Those with a value from the environment count as keys."""
    given = models.options.get("extra_headers")
    if isinstance(given, Mapping) and any(str(v).startswith("$") or "://" in str(k) for k, v in given.items()):
        given = at_address(models.options, "extra_headers", url, models)
    headers = _mapping(given, "extra_headers", _header)
    if isinstance(given, Mapping) and any(str(v).startswith("$") for v in given.values()):
        refuse_http(url, "a key in models.options.extra_headers")
    return headers


def _mapping(given: object, name: str, read: Callable[[str, str], str]) -> dict[str, str]:
    given = {} if given is None else given
    if not isinstance(given, Mapping) or not all(isinstance(v, str | int | float) for v in given.values()):
        raise ConfigError(f"models.options.{name} must be a mapping of names to texts", hint=f"{name}: {{NAME: VALUE}}")
    return {str(key): read(str(key), str(value)) for key, value in given.items()}


def _header(name: str, value: str) -> str:
    """Return the value of a header; ``$NAME`` is read from the environment, so files contain no keys."""
    if not value.startswith("$"):
        if name.lower() in _SECRET_HEADERS:
            raise ConfigError(
                f"models.options.extra_headers: the value of {name} must not be in a file",
                hint=f"Write {name}: $VARIABLE, and put the value into that environment variable.",
            )
        return value
    found = secret_from_environment(value[1:])
    if not found:
        raise ConfigError(
            f"models.options.extra_headers: the environment variable {value[1:]} for {name} is empty",
            hint=f"Set {value[1:]}.",
        )
    return found
