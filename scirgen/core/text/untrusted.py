"""Does a sentence of a paper or catalogue talk to a machine rather than to its readers? The fence in prompts is the first guard
against such text, exact quotation the second; sentences found here are not even shown, and are no evidence.
"""

from __future__ import annotations

import re

_PATTERNS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:above|previous|prior|earlier|all|any|system|your)\b.{0,30}
        \b(?:instructions?|prompts?|rules?|messages?|text|context)\b
    | \b(?:system|hidden|developer)\ prompt\b | \byour\ (?:system\ )?(?:prompt|instructions)\b
    | \b(?:new|following|updated)\ instructions?\ (?:follow|are|is|:)
    | \byou\ (?:are|must|should)\ (?:now\ )?(?:an?\ AI|a\ language\ model|act|answer|reply|respond|output|always)\b | \byou\ are\ now\b
    | \b(?:always|only|then|and|must|please)\ (?:answer|reply|respond|output|say)\b.{0,20}(?:\byes\b|\bno\b|\btrue\b|\bjson\b|\bused\b|[:"'{])
    | \b(?:answer|reply|respond)\ (?:with|only|used)\b.{0,30}(?:yes|true|json|:|\{)
    | \bmark\ (?:this|the)\ (?:paper|dataset|sentence)\ as\b
    | <\|[a-z_]+\|> | \[/?INST\] | <</?SYS>> | </?(?:system|assistant|user)> | </?data-[0-9a-f]{4,}>
    | \{\{\ [\w.]+(?:\ ?\|[^}]{0,80})?\ \}\} | \{%-?\s*(?:for|if|set|include|import|macro|block|raw|call)\b
    | [{,]\s*["'][A-Za-z_]+["']\s*:\s*(?:["'\[{]|true|false|null|-?\d)
    | \bkeep\ (?:numbers?|sentences?)\ \d+\b | \bkeep\ every\ sentence\b
    | ^\s*(?:system|assistant|user)\s*:\s
    """,
    re.I | re.X | re.S,
)


def talks_to_machine(text: str) -> bool:
    """Whether a text holds orders to a model, ready-made replies, role markers or template code."""
    return _PATTERNS.search(text) is not None
