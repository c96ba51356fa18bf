"""Records, errors, registry, resources, config, fingerprints: what everything else stands on."""
