"""Execution of work items: in this process, or on Ray."""
