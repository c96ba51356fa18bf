"""Records of catalogues in their own forms, from a service or from a file, as datasets."""
