"""All model access: two base classes (`base`), their backends, the reply cache and usage."""
