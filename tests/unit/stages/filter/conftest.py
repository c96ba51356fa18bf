"""Fixtures of the filter tests."""

from tests.support.filtering import ctx, make_ctx, taxonomy_root

__all__ = ["ctx", "make_ctx", "taxonomy_root"]
