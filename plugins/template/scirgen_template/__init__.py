"""The parts that this plugin gives to scirgen. Nothing is imported before it is used."""

from __future__ import annotations

from scirgen import Plugin, Provided

PLUGIN = Plugin(
    "scirgen-template",
    "0.1.0",
    (
        Provided("domain", "template", "scirgen_template.domain:DOMAIN", "the template domain"),
        Provided("source", "template", "scirgen_template.source:TemplateSource", "its catalogue"),
    ),
)
