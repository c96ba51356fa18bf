"""The names that a plugin may import in addition to those of `scirgen` and `scirgen.testing`; `__init__.pyi` lists
them."""

from __future__ import annotations

from scirgen.core import exported

__getattr__, __dir__, __all__ = exported(__name__, __file__)
