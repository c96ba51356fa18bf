"""The claims of an answer: its numbers and units, whether the evidence states them, and the closest false answers."""
