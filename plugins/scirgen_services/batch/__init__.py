"""The Batch API: requests in files, replies within hours, at half the price."""
