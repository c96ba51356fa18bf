"""The stages, one per folder; they share only `scirgen.stages.base` and the records."""
