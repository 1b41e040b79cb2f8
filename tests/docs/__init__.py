"""The pages of the documentation, run as they stand."""
