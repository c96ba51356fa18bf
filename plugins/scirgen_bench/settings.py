"""The settings sections of this wing: the classifiers that `scirgen tagger train` makes, and where they are used."""

from __future__ import annotations

from pydantic import Field

from scirgen.core.config import Section


class ClassifierConfig(Section):
    """Section ``type_opinion`` (a classifier of types) or ``tag_locally`` (of levels)."""

    # Not fingerprinted: the hash of the folder's content is fingerprinted instead of its path.
    tagger: str = Field(
        description="folder of the classifier (scirgen tagger train)", json_schema_extra={"fingerprint": False}
    )
