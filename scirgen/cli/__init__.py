"""The command line: one thin file a command; the work is done behind `scirgen.api`."""
