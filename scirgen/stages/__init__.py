"""The stages. Each folder is one; they share only `scirgen.stages.base` and the records."""
