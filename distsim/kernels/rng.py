"""Counter-based random numbers and hashes, in int64 arithmetic that never overflows.

A draw is a pure function of (seed, entity, purpose, count), so results depend on no order and no rank. 32-bit lanes
times a constant below 2**31 stay inside int64, which compiled code and Python integers treat alike.
"""

from __future__ import annotations

from .jit import small

MASK = 0xFFFFFFFF
# An odd multiplier below 2**31 for the xor-shift-multiply finaliser of 32-bit values (bijective).
MULTIPLIER = 0x45D9F3B

ECN_DRAW, REPS_DRAW, FLOWLET_DRAW, LOSS_DRAW = 1, 2, 3, 4


@small
def mix32(value):
    """Scramble the low 32 bits of `value`; a bijection on 0..2**32-1."""
    h = value & MASK
    h = ((h ^ (h >> 16)) * MULTIPLIER) & MASK
    h = ((h ^ (h >> 16)) * MULTIPLIER) & MASK
    return h ^ (h >> 16)


@small
def uniform(seed, entity, purpose, count):
    """A float in [0, 1) for the `count`-th draw of `entity` for `purpose`."""
    h = mix32(seed ^ mix32(purpose))
    h = mix32(h ^ mix32(entity + 0x1000193))
    h = mix32(h ^ mix32(count))
    return h * (1.0 / 4294967296.0)


@small
def path_hash(src, dst, entropy):
    """32-bit hash of the 5-tuple: addresses and the UDP source port; protocol and destination port are constant."""
    return mix32(mix32(mix32(src) + dst) ^ ((entropy * 0x3C6EF35) & MASK))
