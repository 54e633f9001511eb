"""Commands about searchable models of collections: fit, search, add, remove, features."""
