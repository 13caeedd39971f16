"""Logical SuperPoDs: blocks of nodes inside one SuperPoD, and how they are chosen and kept (policies/super_pod.py).

`shape.py` how many nodes a block is and what makes a job impossible; `pods.py` which SuperPoD and rack a node is in,
and what is free in each; `choose.py` from which SuperPoDs blocks are taken; `keep.py` what a job keeps when it is
rescheduled.
"""
