"""From the segments of a spool to tallies: what one bucket adds up to, and the ids that were counted before."""
