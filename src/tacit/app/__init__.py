"""The command line. It imports everything; nobody imports it."""
