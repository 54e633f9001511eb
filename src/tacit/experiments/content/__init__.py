"""`content`: a page as the query for short texts."""
