"""One trial: users, their tally, an estimate, and how far it is from the truth; with theory beside it."""
