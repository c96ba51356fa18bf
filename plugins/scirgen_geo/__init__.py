"""The geoscience domain: its prompts' examples, its sample corpus and its source adapters; and ScIRGen's published
procedure, where it differs from scirgen's."""

from __future__ import annotations

from scirgen import Plugin, Provided

PLUGIN = Plugin(
    "scirgen-geo",
    "0.1.0",
    (
        Provided("domain", "geo", "scirgen_geo.domain:DOMAIN", "geoscience: TPDC and ScIRGen-Geo"),
        Provided(
            "source", "scirgen-geo", "scirgen_geo.released:ReleasedGeoSource", "records as ScIRGen-Geo released them"
        ),
        Provided(
            "match_strategy",
            "scirgen-paper",
            "scirgen_geo.procedure.strategies:PublishedMatch",
            "the model alone, as published",
        ),
        Provided(
            "generation_strategy",
            "scirgen-paper",
            "scirgen_geo.procedure.strategies:PublishedQuestions",
            "joint, after a call that chooses types",
        ),
        Provided("resources", "scirgen-geo", "scirgen_geo.procedure:ROOT"),
    ),
)
