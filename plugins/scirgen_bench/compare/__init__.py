"""Compares question sets: profiles, types, levels."""
