"""The HTTP interface for clients: request bodies, responses and their examples."""
