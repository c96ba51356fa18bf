"""The stage context of the filter's tests, for entailment models in the filter."""

from tests.support.filtering import make_ctx, taxonomy_root

__all__ = ["make_ctx", "taxonomy_root"]
