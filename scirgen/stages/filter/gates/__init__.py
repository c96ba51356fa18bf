"""The built-in gates, grouped in modules by what they check and registered in `scirgen.builtin`."""
