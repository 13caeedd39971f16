"""Names of the training profiles that come with distsim, apart from all that compiles them."""

MEGATRON_TRAINING, MEGATRON_BRIDGE = "megatron-training", "megatron-bridge"
BUILTIN = (MEGATRON_TRAINING, MEGATRON_BRIDGE)
