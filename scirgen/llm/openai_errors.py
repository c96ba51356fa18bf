"""The one boundary at which the openai SDK's exceptions become ours. Never puts a key into a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time

import openai

from scirgen.core.errors import (
    ContextTooLongError,
    ModelAccessError,
    ModelError,
    RateLimitedError,
    ServerUnavailableError,
)

_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|maximum.{0,20}(tokens|length)|too (long|many tokens)", re.I)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.I)
_KEY = re.compile(r"\b(sk-|key-|Bearer )[A-Za-z0-9_\-.*]{4,}")
_GONE = re.compile(r"model.{0,60}(not found|does not exist|not loaded|unloaded|not exist)|unknown model", re.I | re.S)


def translated(error: Exception, where: str) -> ModelError:
    """Our error for an SDK's; ``where`` is the model's URI.

    401, 403 and an unknown model are fatal (`ModelAccessError`); 429 is `RateLimitedError`, with the server's Retry-After; 5xx,
    408, 409, time-outs, resets and replies that are no JSON are `ServerUnavailableError`; a prompt that does not fit is
    `ContextTooLongError`; any other 4xx is a plain, not retryable `ModelError`.
    """
    if isinstance(error, openai.APIConnectionError):
        causes = list(_causes(error))
        # The SDK's aiohttp transport calls a refused or reset connection a time-out as well; the first cause knows better.
        if isinstance(error, openai.APITimeoutError) and (not causes or isinstance(causes[-1], TimeoutError)):
            hint = "Raise limits.timeout_s, or lower limits.concurrency."
            return ServerUnavailableError(f"{where}: no answer in time", hint=hint)
        what = _clean(str(causes[-1])) or type(causes[-1]).__name__ if causes else "it was closed"
        hint = "Is the server running, and is its address right?"
        return ServerUnavailableError(f"{where}: no connection: {what}", hint=hint)
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, where)
    if isinstance(error, openai.APIResponseValidationError | ValueError):
        return ServerUnavailableError(f"{where}: the server's answer is no valid JSON", hint="Run again to retry it.")
    return ServerUnavailableError(
        f"{where}: {_clean(str(error)) or type(error).__name__}", hint="Run again to retry it."
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    while (cause := error.__cause__) is not None:
        yield cause
        error = cause


def _status_error(error: openai.APIStatusError, where: str) -> ModelError:
    status, said = error.status_code, _clean(error.message)
    if status in (401, 403):
        return ModelAccessError(
            f"{where}: access denied (HTTP {status}): {said}",
            hint="Check the key in OPENAI_API_KEY (or the variable that models.options.api_key_env names).",
        )
    if status == 404 or (status in (400, 422) and _GONE.search(said)):
        return ModelAccessError(
            f"{where}: not found (HTTP {status}): {said}",
            hint="Check the model's name and that the address ends in /v1 (or what your server asks for).",
        )
    if status == 429:
        if _QUOTA.search(said) or "insufficient_quota" in str(error.code):
            return ModelAccessError(f"{where}: the account's quota is used up: {said}", hint="Check plan and billing.")
        return RateLimitedError(
            f"{where}: rate limited: {said}", retry_after=retry_after_s(error.response.headers.get("retry-after")),
            hint="Lower limits.concurrency or set limits.requests_per_minute.",
        )  # fmt: skip
    if status >= 500 or status in (408, 409):
        return ServerUnavailableError(f"{where}: HTTP {status}: {said}", hint="Run again to retry it.")
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return ContextTooLongError(f"{where}: {said}", hint="Use a model with a longer context window.")
    return RefusedRequestError(f"{where}: HTTP {status}: {said}", hint="The server refuses this request as it is.")


class RefusedRequestError(ModelError):
    """Another 4xx: the server does not take the request as it is, and would not on the next try."""

    code = "request_refused"
    retryable = False


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


def _clean(text: str) -> str:
    return _KEY.sub("[key]", " ".join(text.split()))[:300]
