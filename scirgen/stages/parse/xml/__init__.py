"""Papers in XML: JATS and TEI."""
