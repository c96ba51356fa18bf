"""Faithfulness scorers: one module each, registered as plugins of the kind ``faithfulness``."""
