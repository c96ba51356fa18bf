"""Keys, and passwords in addresses: which parts of them may leave the process."""

from scirgen.core.secrets._keys import (
    as_secret,
    masked,
    masked_bytes,
    may_have_keys,
    origin,
    secret_from_environment,
    shown,
)

__all__ = ["as_secret", "masked", "masked_bytes", "may_have_keys", "origin", "secret_from_environment", "shown"]
