"""The meaning of each rejection code of this wing, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "blocked_address": "The address leads into a private network.",
}
