"""Who the users are: how many hold each value, by a distribution or by a file."""
