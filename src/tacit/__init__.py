"""tacit learns to rank when labels are few."""

__version__ = "0.1.0"
