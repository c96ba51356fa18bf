"""Views of a run's store."""
