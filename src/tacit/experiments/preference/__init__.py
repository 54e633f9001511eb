"""`preference`: what unjudged rows add."""
