"""The HTTP interface as its clients see it: bodies of requests, responses and their examples, errors, the reference."""
