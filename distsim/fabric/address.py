"""IPv4 addresses of NICs: node id n has 32.0.0.0 + n + 1, so NIC-0 is 32.0.0.1 and NIC-255 32.0.1.0."""

from __future__ import annotations

import re

FIRST = 32 << 24  # of the block; no NIC has it
_OCTET = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]\d|\d)"
_IPV4 = re.compile(rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}", re.ASCII)
_LAST_NODE = 2**31 - 1


def ip_text(node_id: int) -> str:
    """The address of a NIC, dotted. ValueError for a number that no node id can be."""
    if not 0 <= node_id <= _LAST_NODE:
        raise ValueError(f"{node_id} is not a node id")
    number = FIRST + node_id + 1
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def node_of_ip(text: str) -> int:
    """The node id whose address this is; -1 when it is not a dotted IPv4 address of the NICs' block."""
    match = _IPV4.fullmatch(text)
    if match is None:
        return -1
    number = 0
    for octet in match.groups():
        number = number << 8 | int(octet)
    node_id = number - FIRST - 1
    return node_id if 0 <= node_id <= _LAST_NODE else -1
