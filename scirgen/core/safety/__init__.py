"""Guards against what comes from outside: templates, waiting times of servers, files and links."""
