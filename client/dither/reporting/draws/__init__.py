"""Draws that follow from the device's secret: cohorts, permanent draws and tags."""
