"""Commands for people who adapt scirgen: settings, gates, prompts, taxonomies, domains, models, plugins."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

PLUGIN = Plugin(
    "scirgen-adapt",
    __version__,
    tuple(
        Provided("command", name, f"scirgen_adapt.{target}", summary)
        for name, target, summary in (
            ("gates", "show:gates", "Show the gates that candidates must pass."),
            ("config", "show:config", "Show the resolved settings."),
            ("domains", "domains:domains", "List the domains, or show what one provides."),
            ("init", "init:init", "Write a plugin package for a new domain."),
            ("prompts", "prompts:prompts", "List, show, copy, render, check and try prompts and taxonomies."),
            ("models", "models:models", "Show the models that can be used here, and their prices."),
            ("context", "show:context", "Print commands, settings, plugins and a run's state in one document."),
            ("plugins", "show:plugins", "List the installed plugins."),
        )
    ),
)
