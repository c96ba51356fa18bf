"""The units of the layout's rules: each pass has a frozen class of them, a rule is ``Annotated[unit, reason] = value``.

A number of a rule is a limit; a pattern matches what the rule is about. `benchmarks.parsing --ablate` replaces it by a
value with which the rule never decides.
"""

from __future__ import annotations

Points = float
"""Points of the page, 1/72 inch."""
Ems = float
"""Parts of the type's size."""
Share = float
"""A part of a whole, from 0 to 1."""
Times = float
"""A ratio of two lengths or sizes."""
Count = int
"""A number of lines, groups, words or pages."""
Chars = int
"""A number of characters."""
Bytes = int
"""A number of bytes."""
