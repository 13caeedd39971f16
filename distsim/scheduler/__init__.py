"""Topology-aware scheduling as MindCluster's Volcano does it, on a simulated cluster (README.md)."""
