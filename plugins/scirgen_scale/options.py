"""The option ``--ray-address``."""

from __future__ import annotations

from scirgen.plugin import SettingOption

RAY_ADDRESS = SettingOption(
    ["--ray-address"],
    "ray.address",
    help="Address of a running Ray cluster, for the engine ray. [default: Ray on this machine]",
)
