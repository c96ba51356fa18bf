"""The foundation of all other packages: records, errors, registry, resources, config, fingerprints."""
