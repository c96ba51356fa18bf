"""Comparing question sets: profiles, types, levels."""
