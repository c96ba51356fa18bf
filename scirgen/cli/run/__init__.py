"""Commands that make, show and publish a run."""
