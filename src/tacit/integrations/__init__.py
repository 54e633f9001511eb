"""Adapters to other libraries, one module for each, which imports its library on first use."""
