"""The embedded model SmolLM2-135M, and how models under 1.5B parameters read and write."""

from __future__ import annotations

from pathlib import Path

from scirgen import Plugin, Provided, __version__

ROOT = Path(__file__).parent
PLUGIN = Plugin(
    "scirgen-embedded",
    __version__,
    (
        Provided("chat_model", "bundled", "scirgen_embedded.model:BundledChat", "SmolLM2-135M-Instruct", "local"),
        Provided("scoring_model", "bundled", "scirgen_embedded.model:BundledScoring", "SmolLM2-135M-Instruct", "local"),
        Provided(
            "generation_strategy",
            "evidence",
            "scirgen_embedded.strategy:EvidenceStrategy",
            "evidence first, then one pair",
        ),
        Provided("stage", "extract.small", "scirgen_embedded.stages.extract:SmallExtractStage"),
        Provided("stage", "verify.small", "scirgen_embedded.stages.verify:SmallVerifyStage"),
        Provided("stage", "generate.small", "scirgen_embedded.stages.generate:SmallGenerateStage"),
        Provided("stage", "filter.small", "scirgen_embedded.stages.filter:SmallFilterStage"),
        Provided("gate", "type_question", "scirgen_embedded.gates:TypeQuestionGate"),
        Provided("gate", "unknown_name", "scirgen_embedded.gates:UnknownNameGate"),
        Provided("gate", "vague", "scirgen_embedded.gates:VagueGate"),
        Provided("stage", "tag.small", "scirgen_embedded.stages.tag:SmallTagStage"),
        Provided("known_model", "bundled", "scirgen_embedded.about:ABOUT"),
        Provided("codes", "scirgen-embedded", "scirgen_embedded.codes:CODES"),
        Provided("resources", "scirgen-embedded", "scirgen_embedded:ROOT"),
    ),
)
