"""The HTTP interface for clients: request bodies, responses and their examples, errors, and the reference."""
