"""Generation with small models: facts and alterations by rule, worked examples."""
