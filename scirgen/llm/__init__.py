"""All model access: two protocols (`base`), their backends, the reply cache and usage."""
