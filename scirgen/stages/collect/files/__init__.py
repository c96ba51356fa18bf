"""Records and papers from folders and files."""
