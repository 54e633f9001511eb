"""`content`: a page asks for a short text."""
