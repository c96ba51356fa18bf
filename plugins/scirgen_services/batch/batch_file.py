"""The lines of the Batch API's files: writes one request per line, and reads answers and errors, one per line."""

from __future__ import annotations

import json
from typing import Any, Final

from scirgen import ModelError
from scirgen.core.errors import RateLimitedError, ServerUnavailableError
from scirgen.llm.server.server_errors import clean, status_error
from scirgen_services.batch.batch_journal import Arrived

ENDPOINT: Final = "/v1/chat/completions"
CANCELLED: Final = "batch_cancelled"

PASSING: Final = frozenset({0, 408, 409, 429, *range(500, 600)})
"""Statuses of requests that may succeed in another batch; 0 means "never sent"."""


def request_line(custom_id: str, body: dict[str, Any]) -> bytes:
    """Return a line of the file that is sent: one request under its custom id."""
    entry = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def read_answers(lines: bytes) -> dict[str, Arrived]:
    """Map custom id to answer, from an output or error file; a line that cannot be read counts as never answered."""
    found: dict[str, Arrived] = {}
    for line in lines.split(b"\n"):
        try:
            entry = json.loads(line)
            custom_id, response = str(entry["custom_id"]), entry.get("response")
            if response:
                status = int(response.get("status_code", 200))
                found[custom_id] = Arrived(status if 0 <= status < 1000 else 0, response.get("body"))
            else:
                found[custom_id] = Arrived(0, {"error": entry.get("error") or {}})
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            continue
    return found


def fault_of(arrived: Arrived | None, state: dict[str, Any], where: str) -> ModelError | None:
    """Return the error in a request's answer, or None."""
    if arrived is not None and 0 < arrived.status < 400:
        return None
    if arrived is not None and arrived.status >= 400:
        return status_error(arrived.status, json.dumps(arrived.body).encode(), None, where)
    status = state.get("status")
    if status == "cancelled":
        return ServerUnavailableError(
            f"{where}: its batch was cancelled", code=CANCELLED, hint="Run again to request it in another batch."
        )
    if status == "failed":
        return _refused(state, where)
    return ServerUnavailableError(
        f"{where}: its batch ended ({status}) without an answer to it", hint="Run again to request it in another batch."
    )


def _refused(state: dict[str, Any], where: str) -> ModelError:
    """Return the error for a batch that the server refused, from its first error."""
    errors = state.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    said, code = clean(str(first.get("message") or "no reason given")), str(first.get("code") or "")
    if "limit" in code:  # too many tokens enqueued: other batches must finish first
        return RateLimitedError(f"{where}: {said}", hint="Lower models.options.batch_requests.")
    if "model" in code:
        return status_error(404, json.dumps({"error": {"message": said}}).encode(), None, where)
    return ModelError(
        f"{where}: the server refused the batch: {said}", code="batch_refused", hint="Run again to retry it."
    )
