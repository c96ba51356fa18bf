"""Reads fields of services' irregular JSON; imports for it that are not part of the public API."""

from scirgen.core.secrets import secret_from_environment
from scirgen.core.text.language import by_language, stated_language
from scirgen.plugin import find_doi
from scirgen.stages.collect.files.envelopes import as_dict, as_list, as_text

__all__ = [
    "as_dict", "as_list", "as_text", "by_language", "find_doi", "secret_from_environment", "stated_language",
]  # fmt: skip
