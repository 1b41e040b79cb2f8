"""What a user can see of telemetry, and decide."""
