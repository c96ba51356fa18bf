"""One folder or file for each command that is not the run itself."""
