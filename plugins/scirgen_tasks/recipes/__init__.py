"""Retrieval queries from papers, by the recipes of ``query.recipes``; by default there are none, and the stage does
nothing."""
