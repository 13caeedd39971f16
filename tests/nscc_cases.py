"""One congestion window driven by hand: NSCC's hooks on a GROUP row and a NICPAR row, compiled or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from engine_cases import GBPS, US, nic

from distsim.kernels.cc import nscc
from distsim.kernels.mode import COMPILED
from distsim.parameters import nic_row
from distsim.state import tables as t
from distsim.state.allocate import row_class, to_rows

M = 4184                          # a nominal packet: 4096 B of payload + 88
BASE = 6 * US                     # InitialBaseRTT; with trimming off also the target


class Window:
    """A group of a NIC at 400 Gb/s that began at time 0; attributes are those of ScalaUETCongestionControl.

    Fields of the row are read and set as attributes (`cwnd_bytes`, `inflight_bytes`, ...).
    """

    def __init__(self, *, trimming: bool = False, link_bps: int = 400 * GBPS, **cc: Any) -> None:
        par = nic_row(nic({"TrimmingEnabled": trimming}, cc), link_bps)
        group = np.zeros(1, t.GROUP)
        self.__dict__["kept"] = (par, group)
        self.__dict__["par"] = par[0] if COMPILED else to_rows(par)[0]
        self.__dict__["row"] = group[0] if COMPILED else row_class(t.GROUP)()
        nscc.start(self.row, self.par, 0)

    def __getattr__(self, name: str) -> Any:
        return self.row[name].item() if COMPILED else getattr(self.row, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if COMPILED:
            self.row[name] = value
        else:
            setattr(self.row, name, value)

    def ack(self, at_us: float, delay_us: float | None = 0.0, *, marked: bool = False, newly: int = M, penalty: int = 0,
            restore: bool = False) -> bool:
        """A data ACK at a time; its RTT lies `delay_us` above the measured one (None: no sample)."""
        rtt = -1 if delay_us is None else self.measured_ps + round(delay_us * US)
        return bool(nscc.on_ack(self.row, self.par, newly, marked, rtt, penalty, restore, round(at_us * US)))

    def nack(self, at_us: float, rtt_us: float | None = None) -> bool:
        """A trim NACK of a full packet."""
        rtt = -1 if rtt_us is None else round(rtt_us * US)
        return bool(nscc.on_nack(self.row, self.par, M, rtt, round(at_us * US)))

    def timeout(self) -> None:
        """A full packet's timer expires."""
        nscc.on_timeout(self.row, self.par, M)

    def probe(self, rtt_us: float) -> None:
        """The answer to a probe."""
        nscc.offer_rtt(self.row, self.par, round(rtt_us * US))


def window_of(cwnd_bytes: float, **attributes: Any) -> Window:
    """A window of this many bytes."""
    window = Window(**attributes)
    window.cwnd_bytes = cwnd_bytes
    return window
