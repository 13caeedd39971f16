"""The bytes of a Chakra file: lengths, gzip, versions, attributes of any wire type."""

from __future__ import annotations

import tracemalloc

import pytest
from chakra_cases import COLL_NODE, COMP_NODE, attribute, coll, node, put, trace, varint, write

from distsim.errors import InputError
from distsim.workload.chakra import messages, stream
from distsim.workload.chakra.rank import read_rank
from distsim.workload.graph import COLL, COMP, FIXED


def split(folder, data):
    (folder / "x.et").write_bytes(data)
    return list(stream.messages(str(folder / "x.et")))


def refused(folder, data):
    with pytest.raises(InputError) as error:
        split(folder, data)
    assert str(error.value).startswith(f"{folder / 'x.et'}: ") and "\n" not in str(error.value)
    return error.value.message


def test_messages_come_with_the_byte_where_their_length_starts(tmp_path):
    assert split(tmp_path, b"\x02ab" + b"\x00" + b"\x01c") == [(0, b"ab"), (3, b""), (4, b"c")]


@pytest.mark.parametrize("size", [stream.CHUNK_BYTES - 3, stream.CHUNK_BYTES, 3 * stream.CHUNK_BYTES + 7])
def test_messages_across_chunks(tmp_path, size):
    big, length = bytes(range(256)) * (size // 256) + b"x" * (size % 256), varint(size)
    found = split(tmp_path, b"\x01a" + length + big + b"\x02bc" + length + big + b"\x01d")
    second = 2 + len(length) + size
    assert [at for at, _ in found] == [0, 2, second, second + 3, second + 3 + len(length) + size]
    assert [data for _, data in found] == [b"a", big, b"bc", big, b"d"]


def test_every_split_of_a_small_file_reads_the_same(tmp_path, monkeypatch):
    data = b"".join(varint(size) + bytes([size % 256]) * size for size in (0, 1, 127, 128, 129, 5, 300, 2))
    whole = split(tmp_path, data)
    for chunk in range(10, 140):               # a chunk holds a length at least
        monkeypatch.setattr(stream, "CHUNK_BYTES", chunk)
        assert split(tmp_path, data) == whole


def test_a_length_that_is_cut_off(tmp_path):
    assert refused(tmp_path, b"\x01a\x80") == "truncated: the file ends inside the message length at byte 2"


def test_a_message_that_is_cut_off(tmp_path):
    assert refused(tmp_path, b"\x01a\x05xyz") == (
        "truncated: the message at byte 2 has 5 bytes, of which the file holds 3")


def test_a_length_that_no_message_has(tmp_path):
    assert refused(tmp_path, b"\x01a" + varint(1 << 40)) == (
        f"the message at byte 2 claims {1 << 40} bytes; this is no Chakra trace")
    assert "no message length at byte 0" in refused(tmp_path, b"\xff" * 20)


def test_a_large_claim_allocates_nothing(tmp_path):
    tracemalloc.start()
    refused(tmp_path, varint(2**31 - 1) + b"abc")
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()


def test_empty_missing_and_folder(tmp_path):
    assert refused(tmp_path, b"") == "is empty (Chakra trace)"
    for path, message in ((tmp_path / "none", "no such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=message):
            list(stream.messages(str(path)))


def test_gzip_by_its_first_bytes_and_broken_gzip(tmp_path):
    data = trace(node(1, COMP_NODE, 7))
    write(tmp_path, data, packed=True)
    assert read_rank(str(tmp_path / "t.0.et"), 0, 1).nodes["duration_ps"].tolist() == [7_000_000]
    packed = (tmp_path / "t.0.et").read_bytes()
    assert "broken gzip data" in refused(tmp_path, packed[:-9])
    assert "broken gzip data" in refused(tmp_path, packed[:12] + b"\xff\xff\xff" + packed[15:])


def nodes(folder, *found, metadata=None):
    write(folder, trace(*found, metadata=metadata))
    return read_rank(str(folder / "t.0.et"), 0, 8).nodes


@pytest.mark.parametrize("metadata", [
    put(1, "0.0.4"), put(1, "1.0.0"), put(2, attribute("schema", "1.0.2-chakra.0.0.4")),
    put(2, attribute("schema", "1.0.1")) + put(2, attribute("pid", 114598)),
    put(2, attribute("schema", "symbolic_tensor_network"))])
def test_versions_that_are_read(tmp_path, metadata):
    assert len(nodes(tmp_path, node(1, COMP_NODE, 1), metadata=metadata)) == 1


@pytest.mark.parametrize(("metadata", "message"), [
    (put(1, "0.0.1"), "Chakra version 0.0.1 cannot be read; valid: 0.0.4, 1.0.0"),
    (put(1, "1.1.0"), "Chakra version 1.1.0 cannot be read"),
    (put(2, attribute("schema", "1.0.2-chakra.0.0.3")), "Chakra version 0.0.3 cannot be read"),
    (b"", "the first message has neither a version nor a schema"),
    (node(5, COMP_NODE), "the first message has neither a version nor a schema"),
    (b"\x0a\x7f", "the metadata, 2 bytes at byte 0, is no Chakra message")])
def test_versions_that_are_refused(tmp_path, metadata, message):
    with pytest.raises(InputError) as error:
        nodes(tmp_path, metadata=metadata)
    assert error.value.message.startswith(message) and error.value.file == str(tmp_path / "t.0.et")


def test_a_node_that_is_no_message(tmp_path):
    with pytest.raises(InputError, match="node number 2, 3 bytes at byte 15, is no Chakra message"):
        nodes(tmp_path, node(3, COMP_NODE, 1), b"\x52\x7f\x01")


@pytest.mark.parametrize("kind", ["int32", "int64", "uint32", "uint64", "sint64", "double"])
def test_numbers_of_every_wire_type(tmp_path, kind):
    value = 4096.0 if kind == "double" else 4096
    found = nodes(tmp_path, coll(1, size=(value, kind), kind=((2.0 if kind == "double" else 2), kind)))
    assert (found["size_bytes"][0], found["collective"][0], found["kind"][0]) == (4096, 2, COLL)


@pytest.mark.parametrize(("value", "kind"), [
    ({}, COMP), ({"is_cpu_op": False}, COMP), ({"is_cpu_op": (0, "int32")}, COMP), ({"is_cpu_op": True}, FIXED),
    ({"is_cpu_op": (1, "int32")}, FIXED), ({"is_cpu_op": (1, "uint64")}, FIXED)])
def test_is_cpu_op_as_bool_number_or_absent(tmp_path, value, kind):
    assert nodes(tmp_path, node(1, COMP_NODE, 3, **value))["kind"].tolist() == [kind]


def test_numbers_written_as_text(tmp_path):
    assert nodes(tmp_path, coll(1, size="77", kind="9"))["size_bytes"].tolist() == [77]


def test_fields_and_attributes_that_nobody_reads_are_passed_over(tmp_path):
    extra = put(9, put(1, "[1, 2]")) + put(40, 3) + put(10, put(1, "list") + put(28, put(1, b"\x01\x00")))
    broken = put(10, put(1, b"\xff\xfe") + put(29, b"\xc3\x28")) + put(2, b"\xff\xfe")
    found = nodes(tmp_path, node(1, COMP_NODE, 3, op_schema="x") + extra + broken)
    assert found["duration_ps"].tolist() == [3_000_000]


def test_packed_and_single_dependencies(tmp_path):
    write(tmp_path, trace(node(1, COMP_NODE), node(2, COMP_NODE), node(3, COMP_NODE, after=(1, 2), ctrl=(2, 1))))
    found = read_rank(str(tmp_path / "t.0.et"), 0, 1)
    assert found.dep_node.tolist() == [2] * 4 and found.dep_on.tolist() == [2, 1, 1, 2]
    assert found.dep_ctrl.tolist() == [True, True, False, False]


def test_memory_is_that_of_what_is_kept(tmp_path):
    """2,000 nodes with 32 KB each of inputs that no replay reads: 64 MB of file."""
    one = node(0, COMP_NODE, 1, inputs=put(1, "x" * 32_000))[2:]
    with open(tmp_path / "t.0.et", "wb") as file:
        file.write(trace())
        for number in range(1, 2001):
            data = put(1, number) + one
            file.write(varint(len(data)) + data)
    tracemalloc.start()
    found = read_rank(str(tmp_path / "t.0.et"), 0, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.nodes) == 2000 and peak < 6 << 20


def test_our_numbers_of_node_types():
    assert (messages.COMP_NODE, messages.COMM_COLL_NODE) == (COMP_NODE, COLL_NODE) == (4, 7)
