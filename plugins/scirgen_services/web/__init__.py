"""HTTP for catalogues and papers: limits, checked addresses, cached replies."""
