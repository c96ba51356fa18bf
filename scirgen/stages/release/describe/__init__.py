"""What describes a release: card, datasheet, Croissant."""
