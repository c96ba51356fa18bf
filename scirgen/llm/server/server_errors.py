"""Maps answers of an OpenAI-compatible server to scirgen's errors. A message never contains a key."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from scirgen.core.errors import (
    ContextTooLongError,
    ModelAccessError,
    ModelError,
    RateLimitedError,
    ServerUnavailableError,
)
from scirgen.core.safety.http import causes, retry_after_s, tls_fault

_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|maximum.{0,20}(tokens|length)|too (long|many tokens)", re.I)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.I)
_KEY = re.compile(r"\b(sk-|key-|Bearer )[A-Za-z0-9_\-.*]{4,}")
_GONE = re.compile(r"model.{0,60}(not found|does not exist|not loaded|unloaded|not exist)|unknown model", re.I | re.S)

_SAID: Final = 4000
"""Number of characters of an error's body that are read."""


class RefusedRequestError(ModelError):
    """Another 4xx: the server refuses this request, and a retry would not help."""

    code = "request_refused"
    retryable = False


class NotFoundError(ModelAccessError):
    """404: no such model, or no such path."""


class ServerErrorStatus(ServerUnavailableError):
    """The server answers with 5xx (or 408, 409)."""


class SlowServerError(ServerUnavailableError):
    """The server accepted the connection and gave no whole answer within ``limits.timeout_s``."""


class ReplyTooLargeError(ModelError):
    """An answer is larger than ``limits.max_reply_mb``, on the wire or once decompressed."""

    code = "reply_too_large"
    retryable = False


def status_error(
    status: int, received: bytes, retry_after: str | None, where: str, *, request_id: str | None = None
) -> ModelError:
    """Return scirgen's error for an answer with a status of 300 or more; ``where`` is the model's URI.

    A redirect, 401, 403 and an unknown model are fatal (`ModelAccessError`); 429 is `RateLimitedError`, with the
    server's Retry-After; 5xx but 501, 408, 409 are `ServerUnavailableError`; a prompt that does not fit is
    `ContextTooLongError`; any other 4xx is a plain `RefusedRequestError`, which is not retried.
    """
    said, code = _message_and_code(received)
    noted = clean(request_id or "")[:80]
    if noted:
        said = f"{said} (request id {noted})"
    if status < 400:
        return ModelAccessError(
            f"{where}: the server redirects (HTTP {status}), and scirgen does not follow, because that would also "
            "send the key",
            hint="Use the address that it redirects to, with https if needed.", code="redirected",
        )  # fmt: skip
    if status in (401, 403):
        return ModelAccessError(
            f"{where}: access denied (HTTP {status}): {said}",
            hint="Check the key. OPENAI_API_KEY goes only to its own service; for another address, name the key's "
            "variable in "
            "models.options.api_key_env.",
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
    if (status >= 500 and status != 501) or status in (408, 409):
        return ServerErrorStatus(f"{where}: HTTP {status}: {said}", hint="Run again to retry it.")
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return ContextTooLongError(f"{where}: {said}", hint="Use a model with a longer context window.")
    return RefusedRequestError(f"{where}: HTTP {status}: {said}", hint="The server refuses this request as it is.")


def connection_error(error: BaseException, where: str) -> ModelError:
    """Return our error for a connection that failed or broke. A certificate that cannot be verified ends the run: no
    retry helps."""
    tls = tls_fault(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return ModelAccessError(
            f"{where}: TLS: the server's certificate cannot be verified: {clean(tls.verify_message or str(tls))}",
            hint="For a certificate authority of your own, set SSL_CERT_FILE to the file with its certificate.",
            code="tls",
        )
    if tls is not None:
        return ServerUnavailableError(
            f"{where}: TLS: {clean(str(tls))}",
            hint="Does the server speak https at this address and port?", code="tls",
        )  # fmt: skip
    # The innermost error with a message, since the libraries around it only say that a connection failed.
    said = [clean(cause.strerror or str(cause)) for cause in causes(error) if isinstance(cause, OSError) and str(cause)]
    what = said[-1] if said else clean(str(error.__cause__ or error)) or type(error).__name__
    return ServerUnavailableError(
        f"{where}: no connection: {what}", hint="Is the server running, and is its address right?"
    )


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Report an answer that does not have the API's form as a server error."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError) as error:
        raise ServerUnavailableError(
            f"{where}: the server's answer does not have the API's form ({type(error).__name__})",
            hint="Run again to retry it.", code="unreadable_answer",
        ) from error  # fmt: skip


def clean(text: str) -> str:
    """Return a server's text for use in a message: one line, at most 300 characters, without keys."""
    return _KEY.sub("[key]", " ".join(text[:_SAID].split()))[:300]


def _message_and_code(received: bytes) -> tuple[str, str]:
    """Return the message and code of an error's body: OpenAI's form, a plain "message" or "detail", or the text
    itself."""
    text = received.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return clean(text), ""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return clean(str(error)), ""
    message = error.get("message") or error.get("detail") or text
    return clean(str(message)), f"{error.get('code') or ''} {error.get('type') or ''}"
