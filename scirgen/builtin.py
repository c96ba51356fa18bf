"""scirgen's own plugin manifest: built-ins register in the same way as other plugins. This module imports nothing
heavy."""

from __future__ import annotations

from collections.abc import Mapping

from scirgen.core import __version__
from scirgen.core.registry import Plugin, Provided

# kind -> name -> module:attribute, what it is, and the extra that it needs
# fmt: off
_PROVIDED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "stage": {
        "parse": ("scirgen.stages.parse.stage:ParseStage",),
        "section": ("scirgen.stages.section.stage:SectionStage",),
        "match": ("scirgen.stages.match.stage:MatchStage",),
        "extract": ("scirgen.stages.extract.stage:ExtractStage",),
        "verify": ("scirgen.stages.verify.stage:VerifyStage",),
        "ask": ("scirgen.stages.ask.stage:AskStage",),
        "search": ("scirgen.stages.search.stage:SearchStage",),
        "answer": ("scirgen.stages.answer.stage:AnswerStage",),
        "generate": ("scirgen.stages.generate.stage:GenerateStage",),
        "filter": ("scirgen.stages.filter.stage:FilterStage",),
        "tag": ("scirgen.stages.tag.stage:TagStage",),
        "release": ("scirgen.stages.release.stage:ReleaseStage",),
    },
    "record": {
        "Dataset": ("scirgen.core.records:Dataset",),
        "Paper": ("scirgen.core.records:Paper",),
        "Link": ("scirgen.core.records:Link",),
        "Document": ("scirgen.core.records:Document",),
        "SectionLabel": ("scirgen.core.records:SectionLabel",),
        "Aspect": ("scirgen.core.records:Aspect",),
        "QAPair": ("scirgen.core.records:QAPair",),
        "ReleaseFile": ("scirgen.core.records:ReleaseFile",),
        "Rejection": ("scirgen.core.records:Rejection",),
        "Failure": ("scirgen.core.records:Failure",),
        "Question": ("scirgen.core.corpus.questions:Question",),
        "Pool": ("scirgen.core.corpus.questions:Pool",),
        "Unanswered": ("scirgen.core.corpus.questions:Unanswered",),
        "Regraded": ("scirgen.core.corpus.questions:Regraded",),
    },
    "codes": {
        "scirgen": ("scirgen.report.codes:MEANINGS",),
    },
    "domain": {
        "general": ("scirgen.core.resources:GENERAL", "any field: examples from many"),
    },
    "chat_model": {
        "openai": ("scirgen.llm.server.openai_compat:OpenAIChat", "any OpenAI-compatible server"),
        "azure": ("scirgen.llm.server.openai_compat:OpenAIChat", "a deployment of Azure OpenAI"),
    },
    "scoring_model": {
        "openai": ("scirgen.llm.server.openai_scoring:OpenAIScoring", "a server with echo"),
    },
    "source": {
        "local": ("scirgen.stages.collect.files.folder:FolderSource", "a folder or file of records"),
        "papers": ("scirgen.stages.collect.papers_source:PapersSource", "a folder of papers, one record per paper"),
    },
    "parser": {
        "text": ("scirgen.stages.parse.text:TextParser", "Markdown, plain text and JATS"),
    },
    "gate": {
        "schema": ("scirgen.stages.filter.gates.form:SchemaGate",),
        "not_verbatim": ("scirgen.stages.filter.gates.evidence:NotVerbatimGate",),
        "language": ("scirgen.stages.filter.gates.form:LanguageGate",),
        "answer_in_question": ("scirgen.stages.filter.gates.form:AnswerInQuestionGate",),
        "type_answer": ("scirgen.stages.filter.gates.form:TypeAnswerGate",),
        "pointing": ("scirgen.stages.filter.gates.reference:PointingGate",),
        "unexplained_abbreviation": ("scirgen.stages.filter.gates.reference:UnexplainedAbbreviationGate",),
        "example_leak": ("scirgen.stages.filter.gates.reference:ExampleLeakGate",),
        "not_computed": ("scirgen.stages.filter.gates.cells:NotComputedGate",),
        "not_supported": ("scirgen.stages.filter.gates.evidence:NotSupportedGate",),
        "other_question": ("scirgen.stages.filter.gates.evidence:OtherQuestionGate",),
        "asks_back": ("scirgen.stages.filter.gates.reference:AsksBackGate",),
        "duplicate": ("scirgen.stages.filter.gates.duplicate:DuplicateGate",),
        "same_fact": ("scirgen.stages.filter.gates.duplicate:SameFactGate",),
    },
    "faithfulness": {
        "nli": ("scirgen.stages.filter.faithfulness.judged:EntailmentScorer", "an entailment model on passages"),
        "llm_judge": (
            "scirgen.stages.filter.faithfulness.judged:JudgeScorer",
            "the generator, or models.judge, asked claim by claim",
        ),
        "calibrated": (
            "scirgen.stages.filter.faithfulness.calibrated:CalibratedScorer",
            "one probability from shift and words",
        ),
        "shift": ("scirgen.stages.filter.faithfulness.shift:ShiftScorer", "SePer's log-probability shift"),
    },
    "engine": {
        "local": ("scirgen.pipeline.engine:Engine", "asyncio on this machine"),
    },
    "match_strategy": {
        "auto": ("scirgen.stages.match.judge:AutoStrategy", "rules first, the model for undecided cases"),
        "mention": ("scirgen.stages.match.mention:MentionStrategy", "named or cited where data are used"),
        "model": ("scirgen.stages.match.judge:ModelStrategy", "the generator judges the nearest sentences"),
    },
    "generation_strategy": {
        "joint": ("scirgen.stages.generate.joint:JointStrategy", "pairs of many types in one call"),
    },
    "taxonomy": {
        "seekers": ("scirgen.stages.ask.stage:Seekers", "who asks without having read the text"),
    },
    "release_format": {
        "parquet": ("scirgen.stages.release.parquet:ParquetFormat", "one Parquet file per table", "release"),
    },
}
# fmt: on

PLUGIN = Plugin(
    "scirgen",
    __version__,
    tuple(Provided(kind, name, *entry) for kind, entries in _PROVIDED.items() for name, entry in entries.items()),
)
