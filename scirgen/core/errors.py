"""All errors of scirgen. Each backend's module turns its library's exceptions into these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from scirgen.core.secrets import masked


class ScirgenError(Exception):
    """Base of every error scirgen raises on purpose.

    Attributes:
        code: short stable identifier, stored with failed items and printed to the user.
        hint: what the user can do next; one sentence.
        retryable: whether doing the same thing again later may work.
        fatal: whether other items would fail too (wrong key, unknown model, full disk).
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    fatal: ClassVar[bool] = False
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        message = _printable(masked(message))
        super().__init__(message)
        self.message = message
        self.hint = _printable(masked(hint))
        self.error_code = code or type(self).code

    @property
    def in_full(self) -> str:
        """Message and hint as sentences of one text."""
        return f"{self.message.rstrip('.')}. {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments survive pickling between worker processes and Ray actors.
        return partial(type(self), hint=self.hint, code=self.error_code), (self.message,)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _printable(text: str) -> str:
    """Return the text with control characters escaped, since a terminal would obey those in a server's message."""
    return _CONTROL.sub(lambda m: repr(m.group())[1:-1], text)


class ConfigError(ScirgenError):
    """A setting is missing, unknown or contradictory."""

    code = "config"
    fatal = True
    exit_status = 2


class InputError(ScirgenError):
    """The user's input (records, papers, labels) cannot be used."""

    code = "input"
    exit_status = 2


class ResourceError(ConfigError):
    """A prompt or taxonomy file is wrong; the message names file and line."""

    code = "resource"


class PluginError(ConfigError):
    """A plugin failed to load, or two plugins claim one name."""

    code = "plugin"


class MissingExtraError(ConfigError):
    """An optional dependency is not installed; the hint names the extra."""

    code = "missing_extra"


class PaperError(ScirgenError):
    """A paper's file cannot be fetched or parsed.

    Codes: ``no_text``, ``no_sentence``, ``encrypted``, ``no_extract``, ``damaged``, ``not_a_pdf``, ``timeout``,
    ``memory``, ``unsupported``, ``not_found``, ``blocked_address``, ``too_large``.
    """

    code = "paper"


class ParserKilledError(PaperError):
    """The process that parses a paper was killed from outside, which says nothing about the paper."""

    code = "killed"
    retryable = True


class ModelError(ScirgenError):
    """A model or its server did not give a usable reply."""

    code = "model"
    retryable = True


class RateLimitedError(ModelError):
    """HTTP 429 or similar. ``retry_after`` is in seconds, or None if the server did not say."""

    code = "rate_limited"

    def __init__(
        self, message: str, *, hint: str = "", code: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.retry_after = retry_after


class ServerUnavailableError(ModelError):
    """Connection refused or reset, time-out, HTTP 5xx."""

    code = "server_unavailable"


class ReplyTruncatedError(ModelError):
    """The reply ended at max_tokens (finish_reason=length) before it was complete."""

    code = "reply_truncated"


class ReplyInvalidError(ModelError):
    """The reply does not follow the requested schema, even after the allowed repair attempts."""

    code = "reply_invalid"


class ReplyRefusedError(ModelError):
    """The model declined to answer, or its provider filtered the reply."""

    code = "reply_refused"
    retryable = False


class ContextTooLongError(ModelError):
    """The prompt does not fit the model's context window."""

    code = "context_too_long"
    retryable = False


class ModelAccessError(ModelError):
    """Wrong key, no permission or unknown model: every other item would fail too."""

    code = "model_access"
    retryable = False
    fatal = True


class CannotScoreError(ConfigError):
    """The run needs log-probabilities, and the chosen backend gives none."""

    code = "cannot_score"


class SourceError(ScirgenError):
    """A catalogue or paper service cannot be read."""

    code = "source"
    retryable = True


class SourceRefusedError(SourceError):
    """A catalogue or paper service refused (wrong query, no permission, unknown item); a retry would not help."""

    code = "source_refused"
    retryable = False


class StoreError(ScirgenError):
    """The run's store cannot be opened, read or written (disk full, locked, corrupt, newer version)."""

    code = "store"
    fatal = True


class BudgetReachedError(ScirgenError):
    """A cap set by the user (tokens, cost, minutes) was reached; the run stops cleanly and can be resumed."""

    code = "budget_reached"
    retryable = True
    fatal = True
    exit_status = 4


class RunStoppingError(ScirgenError):
    """The run is stopping: calls in flight finish; this one was not started. Its item remains to do and has not
    failed."""

    code = "stopping"
    retryable = True
    fatal = True


@contextmanager
def require(extra: str, purpose: str, note: str = "") -> Iterator[None]:
    """Wrap the import of an extra's packages: ``with require("local", "models in process"): import torch``.

    Args:
        extra: name of the extra, for the hint.
        purpose: what the packages are for, such as "models in process" or "Parquet".
        note: text after the command in the hint.

    Raises:
        MissingExtraError: an import failed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"a package for {purpose} is not installed: {error}",
            hint=f"Install it with: pip install 'scirgen[{extra}]'{note}",
        ) from error
