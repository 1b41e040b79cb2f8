"""The whole path once, from a person's answer on a device to a debiased chart: what ``dither-sim demo`` shows."""
