"""The run: plan, runner, store, rounds, views and engines."""
