"""Experiments on document collections: SSI, HTR and queries with few judgments."""
