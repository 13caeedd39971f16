"""Jobs on a simulated cluster over time: the scheduler's clock of seconds, steps that packet simulations time.

Everything that runs the engine is imported when it is used.
"""

from __future__ import annotations
