"""`usps`: digits by embeddings of a graph."""
