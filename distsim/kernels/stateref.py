"""The state as one pointer: how compiled kernels see `state.view.State`.

A tuple of forty arrays passed by value costs 260 LLVM values a call, seconds of compile time a kernel, and numba's
reference counting of arrays on top (measured: README, "How fast"). So kernels get a `StateRef`: the address of a
list of (data, length) pairs, one a table. `s.packets` is a `Table`, `s.packets[i]` a record inside the array's memory;
neither owns anything, so nothing is counted. This uses numba's documented extension interface only.

`handle.bind(state)` makes the handle that compiled kernels take; the uncompiled twin takes the tuple itself.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from ..state.view import DTYPES, State
from .handle import Handle
from .mode import BOUNDSCHECK

SLOT_BYTES = 16       # of a table: address, number of rows


class StateRefType(types.Type):
    """Type of a handle; there is one, as every table's dtype is fixed."""

    def __init__(self) -> None:
        super().__init__(name="StateRef")


class TableType(types.Type):
    """Type of one table: the address of its slot."""

    def __init__(self, element: types.Type) -> None:
        self.element = element
        super().__init__(name=f"Table({element})")


STATE_REF = StateRefType()
ELEMENTS = {name: numba.from_dtype(dtype) for name, dtype in DTYPES.items()}
NUMBERS = {name: k for k, name in enumerate(State._fields)}
register_model(StateRefType)(models.OpaqueModel)
register_model(TableType)(models.OpaqueModel)


@typeof_impl.register(Handle)
def _typeof_handle(value: Handle, context: Any) -> types.Type:
    return STATE_REF


@unbox(StateRefType)
def _unbox_handle(typ: Any, obj: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, cgutils.voidptr_t), is_error=cgutils.is_not_null(
        c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _StateAttributes(AttributeTemplate):
    key = StateRefType

    def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]
        return TableType(ELEMENTS[attr]) if attr in ELEMENTS else None


@lower_getattr_generic(StateRefType)
def _lower_table(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return cgutils.pointer_add(builder, value, SLOT_BYTES * NUMBERS[attr], return_type=cgutils.voidptr_t)


def _word(builder: Any, slot: Any, number: int) -> Any:
    """One word of a slot; it does not change while a kernel runs, so LLVM may keep it in a register."""
    place = builder.bitcast(cgutils.pointer_add(builder, slot, 8 * number, return_type=cgutils.voidptr_t),
                            ir.IntType(64).as_pointer())
    word = builder.load(place)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def first_address(builder: Any, slot: Any) -> Any:
    """Address of a table's first row."""
    return builder.inttoptr(_word(builder, slot, 0), cgutils.voidptr_t)


def row_bytes(context: Any, table: Any) -> int:
    """Size of a table's row."""
    return int(context.get_abi_sizeof(context.get_data_type(table.element)))


def _row_address(context: Any, builder: Any, table: Any, slot: Any, index: Any) -> Any:
    if BOUNDSCHECK:
        cgutils.do_boundscheck(context, builder, index, _word(builder, slot, 1), 0)
    offset = builder.mul(index, ir.Constant(ir.IntType(64), row_bytes(context, table)))
    address = builder.gep(first_address(builder, slot), [offset])
    return builder.bitcast(address, context.get_data_type(table.element).as_pointer())


@infer_global(operator.getitem)
class _TableGetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], TableType) and isinstance(args[1], types.Integer):
            return signature(args[0].element, args[0], types.intp)
        return None


@lower_builtin(operator.getitem, TableType, types.Integer)
def _lower_getitem(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    address = _row_address(context, builder, sig.args[0], args[0], args[1])
    if isinstance(sig.return_type, types.Record):
        return builder.bitcast(address, context.get_value_type(sig.return_type))
    return context.unpack_value(builder, sig.return_type, address)


@infer_global(operator.setitem)
class _TableSetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], TableType) and isinstance(args[1], types.Integer):
            return signature(types.none, args[0], types.intp, args[0].element)
        return None


@lower_builtin(operator.setitem, TableType, types.Integer, types.Any)
def _lower_setitem(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    address = _row_address(context, builder, sig.args[0], args[0], args[1])
    context.pack_value(builder, sig.args[2], args[2], address)
    return context.get_dummy_value()


@infer_global(len)
class _TableLen(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.intp, args[0]) if isinstance(args[0], TableType) else None


@lower_builtin(len, TableType)
def _lower_len(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _word(builder, args[0], 1)


@intrinsic
def state_ref(typing_context: Any, address: Any) -> Any:
    """A StateRef from a handle's address, for the C entry point."""
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return STATE_REF(types.int64), codegen
