"""Linear rankers with losses of their own."""
