"""From the segments of a spool to the counts of a database: without what came twice, by as many workers as you like."""
