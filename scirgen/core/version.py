"""scirgen's version, for code below the public API."""

__version__ = "0.1.0"
