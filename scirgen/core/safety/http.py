"""What every HTTP client of ours needs to read from a server: Retry-After, and why a connection failed."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, in either form (RFC 9110, section 10.2.3); None: nothing usable.

    Callers cap it: a server may ask for a thousand years.
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
    """The error, and what led to it, outermost first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def tls_fault(error: BaseException) -> ssl.SSLError | None:
    """The TLS error behind a failed connection, the innermost; None: it failed for another reason."""
    return next((cause for cause in reversed(list(causes(error))) if isinstance(cause, ssl.SSLError)), None)
