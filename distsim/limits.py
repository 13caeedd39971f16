"""How long a run may be expected to take before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """max_hops : packet-hops that a run may be projected to take, None: a day's on this machine; yes : any number."""

    max_hops: int | None = None
    yes: bool = False
