"""Where work items are executed: in this process, or on Ray."""
