"""Describes who judged the rows of a release: language models and people, with their agreement."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scirgen.core.registry.known_models import known_model
from scirgen.release_files.release import LabelNote, ReleaseInfo

_JUDGE = "llm_judge"


def known_writer(models: Iterable[str]) -> str:
    """Describe the rows of a model that a plugin describes (the embedded one); "" without such a model.

    Args:
        models: those that wrote rows.
    """
    described = [known for known in map(known_model, models) if known]
    return described[0].rows if described else ""


def judged_by(info: ReleaseInfo) -> str:
    """State which model judged, how it relates to the writer, and whether people tested it; "" without a judge."""
    judges = {made.model for made in info.made if made.stage == "filter" and made.prompt.startswith(f"{_JUDGE} ")}
    writers = {made.model for made in info.made if made.stage in ("answer", "generate")}
    if not judges:
        return ""
    said = f"Judged by {', '.join(sorted(judges))}"
    if judges & writers:
        said = "Judged by the model that wrote them"
    elif {_family(m) for m in judges} & {_family(m) for m in writers}:
        said += ", of the writer's family"
    of_people = (note for note in info.labels if note.annotators > note.language_models)
    # `scirgen label agree` writes so of a judge that kept the bound on the test part, which opens once.
    passed = (j for note in of_people for j in note.judges if _JUDGE in j and ": validated on test" in j)
    tested = any(" measured by " not in j or any(model in j for model in judges) for j in passed)
    return f"{said}; {'tested' if tested else 'not tested'} against people."


def label_note(note: LabelNote) -> str:
    """State who labelled how many items, by which guideline, and how well they agree."""
    people = note.annotators - note.language_models
    readers = [f"{people} {'person' if people == 1 else 'people'}"] if people else []
    if note.language_models:
        readers.append("a language model" if note.language_models == 1 else f"{note.language_models} language models")
    text = f"{note.items:,} items, read by {' and '.join(readers)}, guideline {note.guideline}"
    for name, value, interval in (
        ("Cohen's kappa", note.kappa, note.kappa_interval), ("Krippendorff's alpha", note.alpha, note.alpha_interval),
    ):  # fmt: skip
        if value is not None:
            between = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if len(interval) == 2 else ""
            text += f"; {name} {value:.2f}{between}"
    return f"{text}; margin for judges {note.margin:g}" + ("." if note.judges else "; no judge was tested.")


def _family(model: str) -> str:
    """Return the letters with which a model's name begins, which its versions and sizes share: "qwen" of
    "openai:Qwen/Qwen3-8B"."""
    name = model.partition(":")[2].partition("@")[0].rpartition("/")[2]
    found = re.match(r"[a-z]+", name.lower())
    return found.group() if found else name
