"""Linear rankers with special losses."""
