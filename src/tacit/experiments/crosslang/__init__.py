"""`crosslang`: queries in another language than the documents."""
