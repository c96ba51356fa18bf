"""The context of a dataset: what generation sees, what filters score against and what the release ships."""

from __future__ import annotations

from collections.abc import Iterable

from scirgen.core.records import Aspect, AspectCategory, Dataset


def aspects_by_category(aspects: Iterable[Aspect]) -> dict[AspectCategory, list[Aspect]]:
    """Aspects grouped in the order of the six categories, each group in document order."""
    ordered = sorted(aspects, key=lambda a: (a.paper_id, a.span.start, a.span.end))
    return {c: [a for a in ordered if a.category == c] for c in AspectCategory if any(a.category == c for a in ordered)}


def context_text(dataset: Dataset, aspects: Iterable[Aspect] = ()) -> str:
    """Metadata, then the kept statements of its papers under their category's name; one string, the same everywhere."""
    parts = [dataset.text]
    for category, group in aspects_by_category(aspects).items():
        name = category.value.replace("_", " ").capitalize()
        parts.append(f"{name}: " + " ".join(dict.fromkeys(a.span.text for a in group)))
    return "\n".join(parts)
