"""The HTTP service and its page: search, judge, learn and prove in one place."""
