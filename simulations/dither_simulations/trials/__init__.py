"""One trial: users, their tally, an estimate, and its distance from the truth; compared with theory."""
