"""The claims of an answer: its numbers and units, and whether the evidence states them."""
