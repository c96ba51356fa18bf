"""Tokens of models on servers: what prompts share, and what is control."""
