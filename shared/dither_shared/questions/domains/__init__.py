"""What may be answered: a list of labels, a grid of numbers, an alphabet of strings."""
