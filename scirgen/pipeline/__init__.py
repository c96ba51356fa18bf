"""Plan, runner, store, plugin discovery."""
