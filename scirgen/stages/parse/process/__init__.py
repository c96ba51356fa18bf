"""The worker processes that parse papers, and their limits."""
