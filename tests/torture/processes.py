"""What the system says of a running process: its memory and its use of a processor."""

import os
from pathlib import Path


def memory_of(pid: int, kind: str) -> float:
    """Return a process's memory of a kind, such as VmRSS or VmHWM, its peak, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) / 1024


def forget_peak(pid: int) -> None:
    """Let the peak of a process's memory be what it has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def cpu_seconds(pid: int) -> float:
    """Return the seconds that a process kept a processor at work."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
