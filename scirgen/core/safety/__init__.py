"""Guards against untrusted input: templates, waiting times of servers, files and links."""
