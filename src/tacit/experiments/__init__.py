"""The papers' tables and figures on real data, by protocols that all systems share."""
