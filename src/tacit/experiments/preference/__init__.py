"""`preference`: the gain from unjudged rows."""
