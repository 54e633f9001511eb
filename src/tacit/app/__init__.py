"""The command line. It imports all other packages; no package imports it."""
