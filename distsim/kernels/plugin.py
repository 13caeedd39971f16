"""A user's own congestion control or spraying: functions of a Python file of theirs, compiled with the kernels.

The file is named by `TransportProcessingLayers.Plugin.File`; the session puts its path in DISTSIM_PLUGIN before the
kernels are loaded, and the compiled kernels are kept under a digest that covers it. Hooks, with the state's GROUP row
`g` and the NIC's NICPAR row `par`:

congestion control  start(g, par, now_ps), on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps),
                    on_nack(g, par, nominal_bytes, rtt_ps, now_ps), on_timeout(g, par, nominal_bytes),
                    offer_rtt(g, par, rtt_ps); a true result of on_ack and on_nack counts as a Quick Adapt cut
spraying            spray_start(g, par), spray_pick(g, par) -> entropy value, spray_feedback(g, par, entropy, good)

They may keep state in g.state_a, state_b (floats), state_c, state_d (integers) and read par.plug_a..plug_d. A hook that
a file does not define does nothing.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

from .jit import kernel
from .mode import plugin_file


def _load() -> types.ModuleType:
    module = types.ModuleType("distsim_plugin")
    path = plugin_file()
    if path:
        module.__file__ = path
        exec(compile(Path(path).read_text(), path, "exec"), module.__dict__)
    return module


def start(g: Any, par: Any, now_ps: Any) -> None:
    """A group begins."""


def on_ack(g: Any, par: Any, newly_bytes: Any, marked: Any, rtt_ps: Any, penalty: Any, restore: Any,
           now_ps: Any) -> bool:
    """An ACK of data; `rtt_ps` < 0: it gives no RTT sample."""
    return False


def on_nack(g: Any, par: Any, nominal_bytes: Any, rtt_ps: Any, now_ps: Any) -> bool:
    """A NACK for an outstanding packet."""
    return False


def on_timeout(g: Any, par: Any, nominal_bytes: Any) -> None:
    """A retransmission timer expired."""


def offer_rtt(g: Any, par: Any, rtt_ps: Any) -> None:
    """A probe's round trip."""


def spray_start(g: Any, par: Any) -> None:
    """A group begins."""


def spray_pick(g: Any, par: Any) -> int:
    """Entropy value of the next data packet."""
    return 0


def spray_feedback(g: Any, par: Any, entropy: Any, good: Any) -> None:
    """An answer brought an entropy value back."""


HOOKS = ("start", "on_ack", "on_nack", "on_timeout", "offer_rtt", "spray_start", "spray_pick", "spray_feedback")
_user = _load()
for _name in HOOKS:
    globals()[_name] = kernel(getattr(_user, _name, globals()[_name]))
