"""The messages of a Chakra trace, as protobuf classes built from their field numbers.

Only the fields that a replay reads are declared; protobuf passes over the others. Numbers: mlcommons/chakra,
et_def.proto (the same in 0.0.4 and 1.0.0). Texts are declared as bytes, so that one that is not UTF-8 does no harm.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

# Node.type
(INVALID_NODE, METADATA_NODE, MEM_LOAD_NODE, MEM_STORE_NODE, COMP_NODE, COMM_SEND_NODE, COMM_RECV_NODE,
 COMM_COLL_NODE) = range(8)
NODE_TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
              "COMM_RECV_NODE", "COMM_COLL_NODE")

_ONE, _MANY = FieldDescriptorProto.LABEL_OPTIONAL, FieldDescriptorProto.LABEL_REPEATED
_F = FieldDescriptorProto

# A scalar of an attribute; its list has the next number.
_SCALARS = {"double_val": (3, _F.TYPE_DOUBLE), "float_val": (5, _F.TYPE_FLOAT), "int32_val": (7, _F.TYPE_INT32),
            "int64_val": (9, _F.TYPE_INT64), "uint32_val": (11, _F.TYPE_UINT32), "uint64_val": (13, _F.TYPE_UINT64),
            "sint32_val": (15, _F.TYPE_SINT32), "sint64_val": (17, _F.TYPE_SINT64),
            "fixed32_val": (19, _F.TYPE_FIXED32), "fixed64_val": (21, _F.TYPE_FIXED64),
            "sfixed32_val": (23, _F.TYPE_SFIXED32), "sfixed64_val": (25, _F.TYPE_SFIXED64),
            "bool_val": (27, _F.TYPE_BOOL), "string_val": (29, _F.TYPE_BYTES), "bytes_val": (31, _F.TYPE_BYTES)}
_LISTS = ("int32", "int64", "uint32", "uint64")        # the lists of numbers that a replay may read


def _classes() -> dict[str, Any]:
    """The message classes by name, in a descriptor pool of their own."""
    file = FileDescriptorProto(name="distsim/chakra", package="distsim.chakra", syntax="proto3")
    _attribute(file)
    metadata = file.message_type.add(name="GlobalMetadata")
    _fields(metadata, ("version", 1, _ONE, _F.TYPE_BYTES))
    _messages(metadata, "attr", 2)
    node = file.message_type.add(name="Node")
    _fields(node, ("id", 1, _ONE, _F.TYPE_UINT64), ("name", 2, _ONE, _F.TYPE_BYTES), ("type", 3, _ONE, _F.TYPE_INT32),
            ("ctrl_deps", 4, _MANY, _F.TYPE_UINT64), ("data_deps", 5, _MANY, _F.TYPE_UINT64),
            ("start_time_micros", 6, _ONE, _F.TYPE_UINT64), ("duration_micros", 7, _ONE, _F.TYPE_UINT64),
            ("inputs", 8, _ONE, _F.TYPE_BYTES))                 # an IOInfo, read only where a replay needs it
    _messages(node, "attr", 10)
    _fields(file.message_type.add(name="IOInfo"), ("values", 1, _ONE, _F.TYPE_BYTES))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"distsim.chakra.{name}"))
            for name in ("GlobalMetadata", "Node", "IOInfo")}


def _attribute(file: FileDescriptorProto) -> None:
    for kind in _LISTS:
        _fields(file.message_type.add(name=f"{kind}_values"), ("values", 1, _MANY, _SCALARS[f"{kind}_val"][1]))
    attribute = file.message_type.add(name="Attribute")
    attribute.oneof_decl.add(name="value")
    _fields(attribute, ("name", 1, _ONE, _F.TYPE_BYTES))
    for name, (number, kind_number) in _SCALARS.items():
        attribute.field.add(name=name, number=number, label=_ONE, type=kind_number, oneof_index=0)
    for kind in _LISTS:
        attribute.field.add(name=f"{kind}_list", number=_SCALARS[f"{kind}_val"][0] + 1, label=_ONE,
                            type=_F.TYPE_MESSAGE, type_name=f".distsim.chakra.{kind}_values", oneof_index=0)


def _fields(message: DescriptorProto, *fields: tuple[str, int, Any, Any]) -> None:
    for name, number, label, kind in fields:
        message.field.add(name=name, number=number, label=label, type=kind)


def _messages(message: DescriptorProto, name: str, number: int) -> None:
    message.field.add(name=name, number=number, label=_MANY, type=_F.TYPE_MESSAGE,
                      type_name=".distsim.chakra.Attribute")


_CLASSES = _classes()
GlobalMetadata: Any = _CLASSES["GlobalMetadata"]
Node: Any = _CLASSES["Node"]
IOInfo: Any = _CLASSES["IOInfo"]

__all__ = ["COMM_COLL_NODE", "COMM_RECV_NODE", "COMM_SEND_NODE", "COMP_NODE", "INVALID_NODE", "MEM_LOAD_NODE",
           "MEM_STORE_NODE", "METADATA_NODE", "NODE_TYPES", "DecodeError", "GlobalMetadata", "IOInfo", "Node",
           "attributes"]


def attributes(message: Any, wanted: frozenset[bytes]) -> dict[bytes, Any]:
    """The attributes of a node or of the metadata whose names are in `wanted`: number, bool, bytes or list of numbers,
    whatever their wire type; the last one counts where a name comes twice."""
    found = {}
    for attribute in message.attr:
        name = attribute.name
        if name in wanted:
            which = attribute.WhichOneof("value")
            if which is not None:
                value = getattr(attribute, which)
                found[name] = list(value.values) if which[-4:] == "list" else value
    return found
