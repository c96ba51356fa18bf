"""`scirgen label`: draw a sample, make its page, merge labels, measure agreement, test judges, exchange labels."""
