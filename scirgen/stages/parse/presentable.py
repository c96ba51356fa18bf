"""Cleans a parsed paper: shortens runs, crops headings, and removes sentences that address a machine."""

from __future__ import annotations

from scirgen.core.records import BlockKind
from scirgen.core.text.tame import tame
from scirgen.core.text.untrusted import without_orders
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper

_LONGEST_HEADING = 300
_LONGEST_BLOCK = 100_000
_MOST_BLOCKS = 50_000
_MOST_HEADINGS = 1_000


def presentable(parsed: ParsedPaper) -> ParsedPaper:
    """The paper without sentences that address a machine; these are its ``orders``.

    They are removed here and not in later stages, so that no prompt, evidence or release ever holds them.
    """
    taken: list[str] = []

    def clean(text: str, most: int) -> str:
        kept, orders = without_orders(tame(text, most), parsed.language or "en")
        taken.extend(orders)
        return kept

    blocks = _plain_after(
        tuple(_block(b, clean(b.text, _most(b))) for b in parsed.blocks[:_MOST_BLOCKS]), _MOST_HEADINGS
    )
    title, abstract = clean(parsed.title, _LONGEST_HEADING * 2), clean(parsed.abstract, _LONGEST_BLOCK)
    same = len(blocks) == len(parsed.blocks) and all(new is old for new, old in zip(blocks, parsed.blocks, strict=True))
    if same and (title, abstract) == (parsed.title, parsed.abstract):
        return parsed
    found = {"title": title, "abstract": abstract, "blocks": blocks, "orders": tuple(dict.fromkeys(taken))}
    return parsed.model_copy(update=found)


def _plain_after(blocks: tuple[ParsedBlock, ...], most: int) -> tuple[ParsedBlock, ...]:
    """The blocks with at most so many headings; further ones become paragraphs. No paper has as many, and their cost
    grows with their square."""
    if sum(b.kind is BlockKind.HEADING for b in blocks) <= most:
        return blocks
    seen, kept = 0, []
    for block in blocks:
        seen += block.kind is BlockKind.HEADING
        late = block.kind is BlockKind.HEADING and seen > most
        kept.append(block.model_copy(update={"kind": BlockKind.PARAGRAPH, "level": None}) if late else block)
    return tuple(kept)


def _most(block: ParsedBlock) -> int:
    return _LONGEST_HEADING if block.kind is BlockKind.HEADING else _LONGEST_BLOCK


def _block(block: ParsedBlock, text: str) -> ParsedBlock:
    if text == block.text:
        return block
    # After a removed sentence, the places of lines are unknown; lines before it keep theirs.
    same = next(
        (i for i, (a, b) in enumerate(zip(text, block.text, strict=False)) if a != b), min(len(text), len(block.text))
    )
    lines = tuple(line for line in block.lines if line.start <= same)
    return block.model_copy(update={"text": text, "lines": lines})
