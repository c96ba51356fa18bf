"""Descriptions of a release: card, datasheet, Croissant."""
