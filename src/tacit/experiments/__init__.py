"""Tables and figures of the papers on real data, with protocols shared by all systems."""
