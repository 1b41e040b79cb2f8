"""What a device keeps, and how: folder, files, locks, the journal and its records."""
