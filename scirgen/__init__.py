"""scirgen: retrieval and question-answering datasets for a field of science. The public API; see docs/api.md.

The names are in `__init__.pyi`.
"""

from __future__ import annotations

from scirgen.core import exported

__getattr__, __dir__, __all__ = exported(__name__, __file__)
