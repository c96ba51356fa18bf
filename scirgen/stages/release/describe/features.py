"""The columns of every table in a release, as Hugging Face feature lists (for the card) and as flat types (Croissant).

Both are derived from the row models, so they always agree.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from scirgen.release_files.release import FEATURES, AspectRow, CorpusDocument, PaperRow, Passage

TABLES: dict[str, tuple[type[BaseModel], str]] = {
    "corpus-without-paper": (CorpusDocument, "corpus/without-paper.jsonl"),
    "corpus-with-paper": (CorpusDocument, "corpus/with-paper.jsonl"),
    "passages": (Passage, "corpus/passages.jsonl"),
    "papers": (PaperRow, "corpus/papers.jsonl"),
    "aspects": (AspectRow, "corpus/aspects.jsonl"),
}


def features(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return a model's columns in the card's ``dataset_info.features`` notation.

    Raises:
        TypeError: a field's type has no counterpart.
    """
    return [{"name": name, **feature(field.annotation)} for name, field in model.model_fields.items()]


def scalar_columns(model: type[BaseModel]) -> dict[str, str]:
    """Return the columns with a single value: name -> string, int64, float64 or bool."""
    return {f["name"]: f["dtype"] for f in features(model) if "dtype" in f}


def feature(annotation: object) -> dict[str, Any]:
    """Return a type in the same notation.

    Raises:
        TypeError: it has no counterpart.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return feature(arguments[0])
    if origin in (Union, types.UnionType):
        (inner,) = (a for a in arguments if a is not type(None))
        return feature(inner)
    if origin is Literal:
        return {"dtype": "string"}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        inner = arguments[0]
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return {"list": features(inner)}
        return {"list": feature(inner)["dtype"]}
    if isinstance(annotation, type) and annotation in FEATURES:
        return {"dtype": FEATURES[annotation]}
    raise TypeError(f"no Hugging Face feature for {annotation!r}")
