"""Chakra mapping files: every rule of the format, each with the line of its error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.workload.lower import Mapping, read_mapping

REVERSE = b"""# ChakraID,ServerID # DataCenterId, PodId, RackId
0,3 #0, 0, 0

1 , 2   # a comment
  2  1
  # only a comment
3,,0
"""
GROUPS = b"""0, 0, 4, 0
1, 1, 4, 0
2, 2, 4, 1
3, 3, 9, 0
4, 4
@@@@@@@@
@ ScaleUpGroupId, ScaleUpBandwidthGbps, ScaleUpPerHopSwitchLatencyNs, ScaleUpNpuCableLatencyNs
4, 800.0, 100.0, 1e2 @ heading # and more
# between
9 3.6e3 0 .25
17, 1, 1, 1
"""


def read(tmp_path: Path, text: bytes, ranks: int, **options: int) -> Mapping:
    path = tmp_path / "map.txt"
    path.write_bytes(text)
    return read_mapping(str(path), ranks, **options)


def refused(tmp_path: Path, text: bytes, line: int | None, message: str, **options: int) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text, 2, **options)
    assert (caught.value.line, caught.value.file) == (line, str(tmp_path / "map.txt"))


def test_placement_only(tmp_path: Path) -> None:
    found = read(tmp_path, REVERSE, 4, hosts=4)
    assert found.server.tolist() == [3, 2, 1, 0] and found.scale_up is None
    assert found.group.tolist() == found.subgroup.tolist() == [-1] * 4


def test_groups(tmp_path: Path) -> None:
    found = read(tmp_path, GROUPS, 5, header_bytes=8, max_payload_bytes=100)
    assert found.group.tolist() == [4, 4, 4, 9, -1] and found.subgroup.tolist() == [0, 0, 1, 0, -1]
    made = found.scale_up
    assert made is not None and made.ids == (4, 9) and made.group.tolist() == [0, 0, 0, 1, -1]
    assert made.rate_bps == (800 * 10**9, 3600 * 10**9) and made.switch_ps == (100_000, 0)
    assert made.cable_ps == (100_000, 250) and (made.header_bytes, made.max_payload_bytes) == (8, 100)
    assert made.latency_ps(np.array([0, 0]), np.array([1, 2])).tolist() == [300_000, 700_000]


def test_the_order_of_ranks_is_free(tmp_path: Path) -> None:
    assert read(tmp_path, b"1 5\n0 9\n2 4294967294", 3).server.tolist() == [9, 5, 4294967294]


def test_the_limits_of_numbers_are_accepted(tmp_path: Path) -> None:
    text = b"0 0 4294967295 4294967295\n@\n4294967295 1e-9 1e-3 0\n"
    made = read(tmp_path, text, 1).scale_up
    assert made is not None and made.rate_bps == (1,) and made.switch_ps == (1,) and made.ids == (4294967295,)
    fast = read(tmp_path, b"0 0 0 0\n@\n0 1.8446744073709551e10 +1 1\n", 1).scale_up
    assert fast is not None and fast.rate_bps == (18446744073709551000,)


@pytest.mark.parametrize(("text", "line", "message"), [
    (b"0,0\n1,1,2\n", 2, "3 fields; a rank has 2 or 4: ChakraLogicalId, serverId"),
    (b"0,0\n1\n", 2, "1 fields"), (b"0 0 0 0 0\n", 1, "5 fields"),
    (b"0,0\n-1,1\n", 2, "ChakraLogicalId '-1' is not a whole number from 0 to 4294967295"),
    (b"0,0\n+1,1\n", 2, "ChakraLogicalId '\\+1'"), (b"0,0x1\n", 1, "serverId '0x1' is not"), (b"0,1.0\n", 1, "'1.0'"),
    (b"0,\xd9\xa1\n", 1, r"serverId '\\\\xd9\\\\xa1' is not"), (b"0,0\x00\n", 1, "is not a whole number"),
    (b"4294967296,0\n", 1, "ChakraLogicalId '4294967296' is not"),
    (b"0,4294967295\n", 1, "serverId '4294967295' is not a whole number from 0 to 4294967294"),
    (b"0,0,4294967296,0\n", 1, "ScaleUpGroupId '4294967296'"), (b"0,0,0,-1\n", 1, "ScaleUpSubgroupId '-1'"),
    (b"0," + b"9" * 100 + b"\n", 1, "is not a whole number"),
    (b"0,0\n1,1\n0,2\n", 3, "rank 0 is placed on line 1 already"),
    (b"0,7\n# x\n1,7\n", 3, "rank 1 is placed on server 7, which runs rank 0 \\(line 1\\); a server runs one rank"),
    (b"0,0\n2,1\n", 2, "rank 1 is missing; 2 ranks are placed, which must be 0 to 1 \\(here: rank 2\\)"),
    (b"0\t0\n", 1, "holds a tab; fields are separated by spaces and commas"),
    (b"# x\n0,0\r\n1,1\r\n", 2, "ends with CR LF"), (b"0,0\n\r\n", 2, "ends with CR LF"),
    (b"0,0" + b" " * 125 + b"#\n", 1, "has 128 bytes before its comment; at most 127"),
    (b"0,0\n#" + b"x" * 4096 + b"\n", 2, "has 4097 bytes; a line has at most 4096"),
    (b"# top\n@ top\n0,0\n", 2, "must come after the ranks; comments before them start with #"),
    (b"0,0 @ x\n", 1, "ScaleUpGroupId '@' is not"),
    (b"0,0,0,0\n1,1\n@\n0,1,1\n", 4, "3 fields; a scale-up group has 4: ScaleUpGroupId, ScaleUpBandwidthGbps"),
    (b"0,0\n1,1\n@\n2,2\n", 4, "2 fields; a scale-up group has 4"),
    (b"0,0\n1,1\n@\n0,1,1,1\n0,1,1,1\n", 5, "ScaleUpGroupId 0 is declared twice"),
    (b"0,0\n1,1\n@\n-3,1,1,1\n", 4, "ScaleUpGroupId '-3'"),
    (b"0,0\n1,1\n@\n0,0,1,1\n", 4, "ScaleUpBandwidthGbps '0' is not a decimal number of at least 1E-9 and below 18446"),
    (b"0,0\n1,1\n@\n0,9e-10,1,1\n", 4, "ScaleUpBandwidthGbps '9e-10'"),
    (b"0,0\n1,1\n@\n0,1.8446744073709552e10,1,1\n", 4, "ScaleUpBandwidthGbps"),
    (b"0,0\n1,1\n@\n0,0x10,1,1\n", 4, "ScaleUpBandwidthGbps '0x10'"), (b"0,0\n1,1\n@\n0,inf,1,1\n", 4, "'inf'"),
    (b"0,0\n1,1\n@\n0,nan,1,1\n", 4, "'nan'"), (b"0,0\n1,1\n@\n0,1_0,1,1\n", 4, "'1_0'"),
    (b"0,0\n1,1\n@\n0,1,-1,1\n", 4, "ScaleUpPerHopSwitchLatencyNs '-1' is not 0 or a decimal number of at least 0.001"),
    (b"0,0\n1,1\n@\n0,1,1,9e-4\n", 4, "ScaleUpNpuCableLatencyNs '9e-4'"),
    (b"0,0\n1,1\n@\n0,1,1.8446744073709552e16,1\n", 4, "ScaleUpPerHopSwitchLatencyNs"),
    (b"0,0\n1,1\n@\n0,1,0,0\n", 4, "scale-up group 0: switch and cable latency are both 0"),
    (b"0,0\n1,1\n@\n0,1,1e16,0\n", 4, "is more than 1000000000000000000 ps"),
    (b"0,0\n1,1,5,0\n", 2, "ScaleUpGroupId 5 of rank 1 is not declared in the section of scale-up groups"),
    (b"0,0\n1,1,5,0\n@\n4,1,1,1\n", 2, "ScaleUpGroupId 5 of rank 1 is not declared"),
    (b"# nothing\n\n", None, "places no rank"),
    (b"0,0\n", None, "places 1 ranks, the workload has 2; rank 1 is missing"),
    (b"0,0\n1,1\n2,2\n", 3, "places 3 ranks, the workload has 2: 0 to 1")])
def test_what_is_refused(tmp_path: Path, text: bytes, line: int | None, message: str) -> None:
    refused(tmp_path, text, line, message)


def test_lines_of_the_greatest_length_are_accepted(tmp_path: Path) -> None:
    text = b"0,0" + b" " * 124 + b"#" + b"x" * 3968 + b"\n1,1\n@" + b"x" * 4095
    assert len(text.split(b"\n")[0]) == len(text.split(b"\n")[2]) == 4096
    assert read(tmp_path, text, 2).server.tolist() == [0, 1]


def test_servers_must_be_in_the_fabric(tmp_path: Path) -> None:
    refused(tmp_path, b"0,0\n1,8\n", 2, "unknown serverId 8; the fabric has servers 0 to 7", hosts=8)
    assert read(tmp_path, b"0,0\n1,7\n", 2, hosts=8).server.tolist() == [0, 7]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_mapping(str(tmp_path / "none"), 1)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_mapping(str(tmp_path), 1)
