"""Collecting: source adapters, and the code that reads and checks them."""
