"""The run: plan, runner, store, rounds, views and the engine."""
