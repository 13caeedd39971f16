"""Parts of policy multilevel: the trees of nodes, what fits into them, which domains are taken, what a fault moves."""
