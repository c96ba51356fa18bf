"""Tokens of models on servers: shared beginnings of prompts, and control tokens."""
