"""Tests of `gate.py`: change them together with the gate."""

from __future__ import annotations

from scirgen_template.gate import TemplateGate

from scirgen import QAPair
from scirgen.testing import check_gate


def test_the_gate_keeps_the_contract_and_accepts_plain_pairs() -> None:
    assert all(verdict.accept for verdict in check_gate(TemplateGate))


def test_a_long_question_is_rejected_with_its_length() -> None:
    pair = QAPair(id="p", dataset_id="d", question="Why " + "so " * 60 + "?", answer="Yes", question_type="definition")
    (verdict,) = check_gate(TemplateGate, [pair])
    assert not verdict.accept and verdict.reason == "62 words"
