"""`reuters`: similar news stories without labels."""
