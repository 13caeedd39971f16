"""Processes that outlive the server that started them: who they are, whether they live, signals to them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def identity(pid: int) -> str:
    """What tells a process from all others that had or will have its number: the machine's boot and the start time of
    the process since then (proc(5), field 22 of stat). Empty when it does not live."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()  # the name, in brackets, may hold anything
    return "" if state in ("Z", "X") else f"{boot}:{rest[18]}"


def lives(pid: int, who: str) -> bool:
    """Whether the process with this number is still the one with this identity."""
    return bool(who) and identity(pid) == who


def send(pid: int, who: str, number: signal.Signals) -> bool:
    """A signal to this process and to no later one of its number; False when it has ended."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not lives(pid, who):
            return False
        signal.pidfd_send_signal(fd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


def kill_group(pid: int, who: str) -> None:
    """Ends a process and all of its group (which it leads) at once."""
    if lives(pid, who):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
