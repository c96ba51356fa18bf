"""Folders of labels by people: their records, and what a release takes from them. `scirgen_label` makes them."""
