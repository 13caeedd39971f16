"""From an oversubscription ratio to whole numbers of cables. Rates are those of the first device of each tier."""

from __future__ import annotations

from fractions import Fraction

from distsim.errors import InputError


def uplinks_for(ratio: float, down_bps: int, uplink_bps: int, where: str) -> int:
    """Uplinks of `uplink_bps` each that make `down_bps` below exactly `ratio` times the rate above.

    Raises InputError when that is not a whole number of at least 1.
    """
    if uplink_bps <= 0 or down_bps <= 0:
        raise InputError(f"cannot be worked out with links of {min(uplink_bps, down_bps)} bit/s", where=where)
    uplinks = Fraction(down_bps, uplink_bps) / Fraction(str(ratio))
    if uplinks.denominator != 1 or uplinks < 1:
        raise InputError(f"{ratio:g} needs {float(uplinks):g} uplinks of {uplink_bps / 1e9:g} Gbps under "
                         f"{down_bps / 1e9:g} Gbps of downlinks, which is not a whole number", where=where)
    return int(uplinks)


def whole_share(uplinks: int, parts: int, name: str, where: str) -> int:
    """`uplinks` divided by `parts` of what `name` counts; InputError when there is a remainder."""
    if uplinks % parts:
        raise InputError(f"{uplinks} uplinks a switch cannot be divided evenly by {name}: {parts}", where=where)
    return uplinks // parts
