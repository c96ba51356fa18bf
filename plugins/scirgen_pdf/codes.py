"""The meaning of each rejection code of this wing, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "unreadable_text": "The PDF's fonts do not say which letters they show; `parse.ocr` can read its pages.",
    "encrypted": "The file is encrypted and no password fits.",
    "no_extract": "The owner of the PDF forbids text extraction.",
}
