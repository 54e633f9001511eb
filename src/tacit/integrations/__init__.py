"""Adapters to other libraries, one module for each, imported on first use."""
