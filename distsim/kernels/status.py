"""What a kernel returns, and what its faults mean. Kernels raise nothing: that would leave tables half-written."""

OK = 0        # the window is done
NEED = 1      # a table is short of rows (`clock.need` names the pool): grow it and call again
BUDGET = 2    # enough work for one call: look after signals and progress, then call again
FAULT = 3     # a bug: `clock.fault` says which rule was broken

FAULT_EARLY = 1       # a packet or notice arrives before the end of the window that its sender is in
FAULT_ORDER = 2       # a packet arrives out of its link's order
FAULT_INFLIGHT = 3    # negative bytes in flight

FAULT_TEXT = {
    FAULT_EARLY: "a packet or notice would arrive before the end of the window its sender is in (lookahead too long)",
    FAULT_ORDER: "a packet would arrive out of its link's order",
    FAULT_INFLIGHT: "bytes in flight became negative",
}
