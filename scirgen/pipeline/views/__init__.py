"""Views of a run's folder: one store, or the stores of a merged run."""
