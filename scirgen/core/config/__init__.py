"""Layered configuration: defaults < domain < file < flags, with the origin of every value."""

from scirgen.core.config._load import LoadedConfig, load_config
from scirgen.core.config._models import Config, LimitsConfig, ModelsConfig
from scirgen.core.config._stages import (
    CollectConfig,
    ExtractConfig,
    FilterConfig,
    GenerateConfig,
    HttpConfig,
    MatchConfig,
    ParseConfig,
    QuotaConfig,
    ReleaseConfig,
    Section,
    SectionConfig,
    SourceDefaults,
    TagConfig,
    fingerprinted,
)

__all__ = [
    "CollectConfig", "Config", "ExtractConfig", "FilterConfig", "GenerateConfig", "HttpConfig", "LimitsConfig",
    "LoadedConfig", "MatchConfig", "ModelsConfig", "ParseConfig", "QuotaConfig", "ReleaseConfig", "Section",
    "SectionConfig", "SourceDefaults", "TagConfig", "fingerprinted", "load_config",
]  # fmt: skip
