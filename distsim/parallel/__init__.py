"""Ranks: how they are found, how the nodes are shared out, how packets cross. Only here is MPI imported."""
