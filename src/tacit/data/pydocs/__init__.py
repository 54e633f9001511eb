"""The embedded corpus: documentation of the installed Python libraries."""
