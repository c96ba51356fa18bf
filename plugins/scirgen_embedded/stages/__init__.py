"""Variants of stages for models under 1.5B parameters (the prompt pack `small`)."""
