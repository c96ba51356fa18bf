"""Shared by all HTTP clients: reads Retry-After, and finds why a connection failed."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time


def retry_after_s(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, in either form (RFC 9110, section 10.2.3), or None if it
    is unusable.

    Callers must cap the value, since a server may ask for a thousand years.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, outermost first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def tls_fault(error: BaseException) -> ssl.SSLError | None:
    """Return the innermost TLS error behind a failed connection, or None if it failed for another reason."""
    return next((cause for cause in reversed(list(causes(error))) if isinstance(cause, ssl.SSLError)), None)
