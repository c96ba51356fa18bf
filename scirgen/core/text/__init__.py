"""Text: normalising, sentences, verbatim search, languages, and what outsiders wrote."""
