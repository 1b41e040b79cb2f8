"""Tables, plots and files that commands write."""
