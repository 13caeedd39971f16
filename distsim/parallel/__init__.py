"""Ranks: how they are found, how the nodes are shared out, how packets and messages cross. Only here is MPI imported."""
