"""distsim: a sharded packet simulator of Ultra Ethernet AI clusters.

From Python: ``distsim.run(config) -> Run`` (distsim.api) and ``distsim.open(directory) -> results.Run``. Importing the
package is free: everything else is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsim.api import Run, open, run

__version__ = "0.3.0"
__all__ = ["Run", "__version__", "open", "run"]


def __getattr__(name: str) -> Any:
    if name in ("Run", "open", "run"):
        from distsim import api

        return getattr(api, name)
    raise AttributeError(f"module 'distsim' has no attribute {name!r}")
