"""scirgen's version, for code below the package's public face."""

__version__ = "0.1.0"
