"""A lock between processes: advisory, on an open file, and gone when its holder dies."""

import sys

__all__ = ["lock", "unlock"]

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> bool:
        """Lock the file if nobody else has; return whether that succeeded."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Lock the file if nobody else has; return whether that succeeded."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock, for every copy of the descriptor that a fork may have made."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
