"""Ask the processor for a row's cache line before it is needed: a packet-hop waits for memory more than for anything.

`prefetch(table, row)` changes nothing and may be called for any row, -1 included. In the uncompiled twin it does
nothing at all.
"""

from __future__ import annotations

from typing import Any

from .jit import COMPILED

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from .stateref import TableType, first_address, row_bytes

    @intrinsic
    def prefetch(typing_context: Any, table: Any, row: Any) -> Any:
        """See the module."""
        if not isinstance(table, TableType) or not isinstance(row, types.Integer):
            return None

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            size = row_bytes(context, sig.args[0])
            offset = builder.mul(args[1], ir.Constant(ir.IntType(64), size))
            address = builder.gep(first_address(builder, args[0]), [offset])
            word = ir.IntType(32)
            signature = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
            function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
            builder.call(function, [address, word(0), word(3), word(1)])
            return context.get_dummy_value()

        return types.none(table, types.intp), codegen
else:
    def prefetch(table: Any, row: Any) -> None:  # type: ignore[misc]
        """See the module."""
