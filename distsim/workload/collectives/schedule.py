"""What a collective's algorithm comes to: transfers between the members of a group, and what each waits for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TRANSFERS = np.dtype([
    ("src", "i4"), ("dst", "i4"),      # members (0 .. members - 1), not ranks
    ("size_bytes", "i8"),
    ("step", "i4"),                    # step of the algorithm, from 0
    ("channel", "i4"),
])

WAITS = np.dtype([("transfer", "i4"), ("on", "i4")])     # rows of `transfers`

PROTOCOLS = ("simple", "ll", "ll128")


@dataclass(frozen=True)
class Schedule:
    """Transfers of one collective.

    transfers : TRANSFERS[n]. after_received : WAITS[m], `transfer` starts once `on` has been received in full at the
    member that sends `transfer`. after_sent : WAITS[k], `transfer` starts once the last byte of `on` has been sent;
    both have the same src. A transfer that waits for nothing starts when its member enters the collective. A member has
    finished when all it sends has been sent and all it is sent has been received.
    """

    members: int
    transfers: np.ndarray
    after_received: np.ndarray
    after_sent: np.ndarray


@dataclass(frozen=True)
class Options:
    """How data is cut. Facts: NVIDIA/nccl.

    channels : parts of the data that go round independently and at once. chunk_bytes : most bytes of a member's part of
    one loop of a channel, 0: everything at once (as Chakra's expansion; `nccl`: 128 KiB). slices : messages that a
    chunk is sent in. protocol : simple, ll (8 bytes on the wire for 4 of data) or ll128 (128 for 120). server :
    consecutive members of a group that share a scale-up domain, for `hierarchical` and the order of `nccl`.
    p2p_channels : channels of a member in all, over which `nccl` spreads its peers. ValueError: a value out of range.
    """

    channels: int = 1
    chunk_bytes: int = 0
    slices: int = 1
    protocol: str = "simple"
    server: int = 1
    p2p_channels: int = 32

    def __post_init__(self) -> None:
        for name in ("channels", "slices", "server", "p2p_channels"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.chunk_bytes < 0:
            raise ValueError(f"chunk_bytes must be at least 0, got {self.chunk_bytes}")
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {self.protocol!r}")

    @property
    def whole(self) -> bool:
        """Nothing is cut into channels, chunks or slices: Chakra's form of the algorithms."""
        return self.channels == 1 and self.chunk_bytes == 0 and self.slices == 1
