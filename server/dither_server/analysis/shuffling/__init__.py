"""What shuffling is worth: the ε of a report for whoever sees the reports of many, in no order and with no names."""
