"""Text: normalising, sentences, verbatim search, languages, and untrusted text."""
