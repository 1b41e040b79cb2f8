"""Sets of values: what is estimated where a person may choose several."""
