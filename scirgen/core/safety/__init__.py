"""Guards against what comes from outside: templates, addresses and keys, compressed data, files and links."""
