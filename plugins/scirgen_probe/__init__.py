"""Questions that nothing in the corpus answers, and the atomic facts (nuggets) of long answers."""

from __future__ import annotations

from pathlib import Path

from scirgen import Plugin, Provided, __version__

ROOT = Path(__file__).parent
PLUGIN = Plugin(
    "scirgen-probe",
    __version__,
    (
        Provided("settings", "probe", "scirgen_probe.settings:ProbeConfig"),
        Provided("further_request", "probe", "scirgen_probe.asking:ProbeRequest", "unanswerable questions"),
        Provided("record", "Unanswerable", "scirgen_probe.records:Unanswerable"),
        Provided("record", "Nugget", "scirgen_probe.records:Nugget"),
        Provided("stage", "probe", "scirgen_probe.proving:ProbeStage"),
        Provided("step", "probe", "scirgen_probe.proving:STEP", "proves unanswerable questions, writes nuggets"),
        Provided("row_fields", "probe", "scirgen_probe.released:ProbeFields", "answerable, lacking, nuggets"),
        Provided("release_part", "probe", "scirgen_probe.released:ProbePart", "rows without an answer"),
        Provided("codes", "scirgen-probe", "scirgen_probe.records:CODES"),
        Provided("resources", "scirgen-probe", "scirgen_probe:ROOT"),
    ),
)
