"""Text to tokens: chat templates, tries, alignment of pieces."""
