"""Folders of labels by people: their records, and the part that a release uses. `scirgen_label` makes them."""
