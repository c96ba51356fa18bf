"""Commands for settings, prompts, domains and plugins."""
