"""Catalogues over the network."""
