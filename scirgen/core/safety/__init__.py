"""Guards against what comes from outside: templates, waiting times of servers, compressed data, files and links."""
