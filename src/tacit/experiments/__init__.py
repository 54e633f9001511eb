"""Tables and figures of the papers on real data, by protocols that all systems share."""
