"""One folder or file for each command other than the run itself."""
