"""Commands that judge, label, compare and measure question sets."""
