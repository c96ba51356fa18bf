"""Finding a quote of a reply word for word in the material it was asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scirgen.core.records import Dataset, Span
from scirgen.stages.generate.strategy import Passage


def locate(quote: str, passages: Sequence[Passage], dataset: Dataset) -> Span | None:
    """The span of a quote in one of the passages or in the metadata; None when it is not there verbatim.

    White space and the quote's outer punctuation are not compared; everything else is.
    """
    words = quote.strip().strip("\"'“”‘’`. ").split()
    if len(words) < 3:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    for passage in passages:
        match = pattern.search(passage.text)
        if match:
            start = passage.span.start + match.start()
            return passage.span.model_copy(
                update={"start": start, "end": start + len(match.group()), "text": match.group()}
            )
    match = pattern.search(dataset.text)
    if match:
        return Span(document_id=dataset.id, start=match.start(), end=match.end(), text=match.group())
    return None
