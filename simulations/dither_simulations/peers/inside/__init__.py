"""What runs in the environment of a peer: it imports nothing of the project, but for ``ours``."""
