"""The meaning of each rejection code of this wing, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "semantic": "Too few answers sampled with the evidence mean the same as the answer (SePer as published).",
    "semantic_hard": "Too few answers sampled with the evidence mean the same as the answer (SePer, hard).",
}
