"""The programs that run in the environment of a peer. Only ``ours`` imports anything of the project."""
