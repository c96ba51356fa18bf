"""The geoscience domain: its prompts' examples, its sample corpus and its source adapters."""

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
    ),
)
