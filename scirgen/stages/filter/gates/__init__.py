"""The built-in gates, a few to a module by what they look at. Registered in `scirgen.builtin`."""
