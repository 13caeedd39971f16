"""Parts of policy hypernode: the tree of HyperNodes, what a job asks of it, room on nodes, the choice of HyperNodes."""
