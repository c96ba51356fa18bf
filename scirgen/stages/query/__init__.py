"""Retrieval queries from papers, by the recipes of ``query.recipes``; none by default, and then nothing is done."""
