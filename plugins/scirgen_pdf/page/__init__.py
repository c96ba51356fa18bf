"""One page of a PDF: from its spans to lines of readable text in reading order, without line numbers and running
heads."""
