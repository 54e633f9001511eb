"""The HTTP service and its page for search, judging, training and comparison."""
