"""The command line: one thin file per command; the code behind `scirgen.api` does the work."""
