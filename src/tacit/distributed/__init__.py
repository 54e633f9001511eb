"""Training and searching on the machines of a Ray cluster (extra `ray`), with the same bits as on one machine."""
