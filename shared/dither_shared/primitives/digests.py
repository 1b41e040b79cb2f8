"""SHA-256 and SHAKE-256 from the interpreter itself.

``hashlib`` offers the same functions and loads OpenSSL for them, which takes 3.5 MiB of an app's memory. The standard
library's ``random`` does the same as this module. An interpreter that was built without them uses those of ``hashlib``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256, shake_256
else:
    try:
        from _sha3 import shake_256
    except ImportError:
        from hashlib import shake_256
    try:
        from _sha2 import sha256  # from Python 3.12 on
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["sha256", "shake_256"]
