"""IPv4 addresses of NICs: node id n has 32.0.0.0 + n + 1, so NIC-0 is 32.0.0.1 and NIC-255 32.0.1.0."""

from __future__ import annotations

from ipaddress import IPv4Address

FIRST = IPv4Address("32.0.0.0")  # of the block; no NIC has it
_LAST_NODE = 2**31 - 1


def ip_text(node_id: int) -> str:
    """The address of a NIC, dotted. ValueError for a number that no node id can be."""
    if not 0 <= node_id <= _LAST_NODE:
        raise ValueError(f"{node_id} is not a node id")
    return str(FIRST + 1 + node_id)


def node_of_ip(text: str) -> int:
    """The node id whose address this is; -1 when it is not a dotted IPv4 address of the NICs' block."""
    try:
        node_id = int(IPv4Address(text)) - int(FIRST) - 1
    except ValueError:
        return -1
    return node_id if 0 <= node_id <= _LAST_NODE else -1
