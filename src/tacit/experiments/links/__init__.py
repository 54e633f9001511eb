"""`links` and `keywords`: rank what a document links to."""
