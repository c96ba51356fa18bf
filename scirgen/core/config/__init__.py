"""Layered configuration: defaults < domain < file < flags, with the origin of every value."""

from scirgen.core.config._load import LoadedConfig, load_config
from scirgen.core.config._models import Config, LimitsConfig, ModelsConfig, section_model
from scirgen.core.config._stages import (
    NOT_FINGERPRINTED,
    AskConfig,
    CollectConfig,
    FilterConfig,
    GenerateConfig,
    HttpConfig,
    MatchConfig,
    ParseConfig,
    QuotaConfig,
    ReleaseConfig,
    SearchConfig,
    Section,
    SectionConfig,
    SourceDefaults,
    TagConfig,
    fingerprinted,
)

__all__ = [
    "NOT_FINGERPRINTED", "AskConfig", "CollectConfig", "Config", "FilterConfig", "GenerateConfig",
    "HttpConfig", "LimitsConfig", "LoadedConfig", "MatchConfig", "ModelsConfig", "ParseConfig", "QuotaConfig",
    "ReleaseConfig", "SearchConfig", "Section", "SectionConfig", "SourceDefaults", "TagConfig", "fingerprinted",
    "load_config", "section_model",
]  # fmt: skip
