"""Names of the log profiles that come with distsim."""

from __future__ import annotations

STRICT, TAGGED, OLD = "nccl-bandwidth", "nccl-bandwidth-tagged", "nccl-bandwidth-old"
BUILTIN = (STRICT, TAGGED, OLD)  # the default first
