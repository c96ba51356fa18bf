"""Papers in markup that is not XML: LaTeX source and HTML pages."""
