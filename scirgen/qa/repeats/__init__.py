"""Questions that say the same: near-duplicates by words, the join of similar sets under them, one fact asked twice."""
