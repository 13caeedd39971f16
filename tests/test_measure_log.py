"""Reading the lines of a log: which rows count, what is averaged, what else is noted."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from measure_cases import HEADER, collect, old_row, results, row

from distsim.measure.reader import CHUNK_BYTES, LINE_LIMIT_BYTES, LogUnreadable, cut_timestamp, log_lines

STAMP = "2026-08-06T14:10:20.194667376-07:00 "


def test_the_out_of_place_half_of_each_row_counts() -> None:
    assert results(collect(HEADER + row(8, "0.01", "0.02") + row(16, "10.50", "20.75"))) == [
        (8, "0.01", "0.02", 1), (16, "10.50", "20.75", 1)]


def test_rows_of_a_size_are_averaged_in_order_of_first_appearance() -> None:
    """(1.00 + 2.00) / 2 = 1.50 and (3.00 + 6.00) / 2 = 4.50, under two operators; 2048 came first."""
    log = row(2048, "7.00", "8.00") + row(1024, "1.00", "3.00") + row(1024, "2.00", "6.00", redop="max")
    assert results(collect(log)) == [(2048, "7.00", "8.00", 1), (1024, "1.50", "4.50", 2)]


def test_an_average_is_rounded_once_and_as_the_binary_value_is() -> None:
    """(56.42 + 56.43) / 2 is 56.425 on paper; the nearest double lies below it."""
    log = row(8, "56.42", "56.43") + row(8, "56.43", "56.42")
    assert results(collect(log)) == [(8, "56.42", "56.42", 2)]


def test_three_thirds_are_not_rounded_on_the_way() -> None:
    """(0.01 + 0.01 + 0.03) / 3 = 0.01666... and (0.01 + 0.01 + 0.00) / 3 = 0.00666..."""
    assert results(collect(row(8, "0.01", "0.01") * 2 + row(8, "0.03", "0.00"))) == [(8, "0.02", "0.01", 3)]


def test_rows_of_size_zero_count_like_others() -> None:
    assert results(collect(row(0, "0.00", "0.00") * 2 + row(4))) == [(0, "0.00", "0.00", 2), (4, "1.50", "2.50", 1)]


@pytest.mark.parametrize("line", [
    row(8, "1.2.3", "2.50"),                       # matches, but is no number
    row(2**63, "1.50", "2.50"),                    # no int64
    row(8, "9" * 400, "2.50"),                     # no finite double
    row(8, "nan", "2.50"), row(8, "inf", "2.50"), row(-8),
    "# Avg bus bandwidth    : 4.32\n", "\n", "1024 256 float sum\n", "x" + row(8),
])
def test_lines_that_are_no_row_are_passed_over(line: str) -> None:
    assert results(collect(line + row(16))) == [(16, "1.50", "2.50", 1)]


def test_the_largest_size() -> None:
    assert results(collect(row(2**63 - 1))) == [(2**63 - 1, "1.50", "2.50", 1)]


def test_a_row_whose_out_of_place_half_is_blank_counts_in_place() -> None:
    line = f"{8:>12}  {2:>12}     float     sum      -1{'':32}    33.65    1.25    2.25       0\n"
    assert results(collect(line)) == [(8, "1.25", "2.25", 1)]


@pytest.mark.parametrize(("line", "stamp", "rest"), [
    (b"2026-08-06T14:10:20.194667376-07:00 rest of it", b"2026-08-06T14:10:20.194667376-07:00", b"rest of it"),
    (b"2026-08-06T14:10:20Z  two", b"2026-08-06T14:10:20Z", b" two"),
    (b"2026-08-06T14:10:20Z ", b"2026-08-06T14:10:20Z", b""),
    (b"2026-08-06T14:10:20 ", b"", b"2026-08-06T14:10:20 "),                      # 20 bytes are not more than 20
    (b"2026-08-06T14:10:20 x", b"2026-08-06T14:10:20", b"x"),
    (b"2026-08-06T14:10:20.1Z", b"", b"2026-08-06T14:10:20.1Z"),                  # no space to cut at
    (b"2026_08-06T14:10:20.1Z x", b"", b"2026_08-06T14:10:20.1Z x"),
    (b"2026-08-06 14:10:20.1Z x", b"", b"2026-08-06 14:10:20.1Z x"),
])
def test_kubernetes_time_stamps_are_cut(line: bytes, stamp: bytes, rest: bytes) -> None:
    assert cut_timestamp(line) == (stamp, rest)


def test_times_are_those_of_the_first_and_the_last_stamp() -> None:
    reading = collect(f"no stamp\n{STAMP}{row(8)}2026-08-06T14:11:43.5Z \n")
    assert results(reading) == [(8, "1.50", "2.50", 1)]
    assert reading.start is not None and reading.completion is not None
    assert reading.start.replace(microsecond=0) == datetime(2026, 8, 6, 21, 10, 20, tzinfo=UTC)
    assert reading.completion == datetime(2026, 8, 6, 14, 11, 43, 500000, tzinfo=UTC)
    assert collect(row(8)).start is None


def test_networks_are_a_sorted_set_of_trimmed_names() -> None:
    said = "host:1:1 [0] NCCL INFO Using network "
    log = (f"{said}Socket\r\n{said}IB\n{STAMP}{said}Socket\n{said} \nNCCL INFO NET/Socket : Using x\n"
           f"{said}AWS Libfabric\n")
    assert collect(log).transport == ["AWS Libfabric", "IB", "Socket"]


def test_a_row_is_not_tried_for_a_network() -> None:
    reading = collect(row(8).rstrip("\n") + " NCCL INFO Using network IB\n")
    assert (results(reading), reading.transport) == ([(8, "1.50", "2.50", 1)], [])


def test_carriage_returns_bytes_that_are_no_text_and_a_missing_newline() -> None:
    log = row(8).replace("\n", "\r\n").encode() + b"\xff\xfe\x00 garbage \x00\n" + row(16).rstrip("\n").encode()
    assert results(collect(log)) == [(8, "1.50", "2.50", 1), (16, "1.50", "2.50", 1)]
    assert collect(b"NCCL INFO Using network a\xffb\n").transport == ["a\ufffdb"]


@pytest.mark.parametrize("before", [b"\x00\x00\x00", b"\x1b[32m", b"\x1b[1;32m\x00"])
def test_zero_bytes_and_colours_before_a_row_are_read_by_the_tagged_profile(before: bytes) -> None:
    """The strict expression allows white space only; it reads the rows that have nothing else before them."""
    log = before + row(8).encode() + before + row(16).encode()
    strict = collect(log)
    assert results(strict) == []
    assert strict.hints == ["profile nccl-bandwidth matches no line, but line 1 is a row that "
                            "--profile nccl-bandwidth-tagged reads"]
    assert results(collect(log, "nccl-bandwidth-tagged")) == [(8, "1.50", "2.50", 1), (16, "1.50", "2.50", 1)]


@pytest.mark.parametrize("label", ["[1,0]<stdout>:", "[1,0]<stderr>: ", "[prterun-node-17@1,0]<stdout>: ", "0: ",
                                   "[12] "])
def test_labels_are_read_by_the_tagged_profile(label: str) -> None:
    log = "".join(label + line for line in (HEADER + row(8) + row(16)).splitlines(keepends=True))
    assert results(collect(log, "nccl-bandwidth-tagged")) == [(8, "1.50", "2.50", 1), (16, "1.50", "2.50", 1)]
    strict = collect(log)
    assert results(strict) == []
    assert "line 3 is a row that --profile nccl-bandwidth-tagged reads" in strict.hints[0]


def test_an_old_row_with_a_whole_time_would_be_misread() -> None:
    """root <- 122131, time <- 2.20, algbw <- 4.33, busbw <- the 2 of 2e-06."""
    strict = collect(row(8) + old_row(1024))
    assert results(strict)[1] == (1024, "4.33", "2.00", 1)
    assert strict.misread
    assert strict.hints == ["line 2 has the old column layout, in which profile nccl-bandwidth takes busbw for algbw; "
                            "--profile nccl-bandwidth-old reads it"]
    old = collect(row(8) + old_row(1024), "nccl-bandwidth-old")
    assert results(old) == [(8, "1.50", "2.50", 1), (1024, "2.20", "4.33", 1)]
    assert not old.misread and old.hints == []


@pytest.mark.parametrize("columns", ["float     sum", "float", "float    sum     0", "float    0"])
@pytest.mark.parametrize("error", ["N/A", "0e+00", "2e-06", "0"])
def test_old_layouts_are_read_by_the_old_profile_and_no_other_is_misread_silently(columns: str, error: str) -> None:
    """redop only (all_reduce), neither (alltoall), both (reduce), root only (broadcast)."""
    log = old_row(1024, "35.20", "2.20", "4.33", error, columns)
    assert results(collect(log, "nccl-bandwidth-old")) == [(1024, "2.20", "4.33", 1)]
    strict = collect(log)
    if columns == "float    sum     0":
        assert results(strict) == [(1024, "2.20", "4.33", 1)]
    else:
        assert results(strict) == []
        assert "--profile nccl-bandwidth-old reads" in strict.hints[0]


def test_todays_rows_are_not_taken_for_old_ones() -> None:
    log = row(8) + row(16, root="0", redop="none") + row(32).rstrip("\n") + " 2026-01-01 10:00:00\n"
    for name in ("nccl-bandwidth", "nccl-bandwidth-tagged"):
        reading = collect(log, name)
        assert len(reading.results) == 3 and not reading.misread and reading.hints == []


def test_rows_cut_by_other_output_are_named() -> None:
    log = "        8192          2048     float     sum      -1node-1:4:4 [0] NCCL INFO x\n  75.38  0.05  0.10  0\n"
    (hint,) = collect(log).hints
    assert hint.startswith("profile nccl-bandwidth matches no line; line 1 is the beginning of a row that other output")


def test_no_hint_without_rows_nor_beside_rows_that_were_read() -> None:
    assert collect(HEADER + "CUDA failure\n").hints == []
    assert collect(row(8) + "[1,0]<stdout>:" + row(16)).hints == []


def test_wrong_values_are_counted_by_row() -> None:
    """`#wrong` of either half; N/A (no check made) and 0 are not wrong."""
    both = row(16, wrong="7").replace("9.99       0", "9.99       3")
    log = row(8) + row(8, wrong="N/A") + both + row(32).replace("9.99       0", "9.99       1")
    assert collect(log).wrong_rows == 2


def test_rotation_loses_the_rows_of_the_rotated_file() -> None:
    """27 bytes and rows of 119: 27 + 3 * 119 exceeds 300, 3 * 119 does again, so rows 1 to 3 and 4 to 6 are lost."""
    assert len(row(8)) == 119
    log = "NCCL INFO Using network IB\n" + "".join(row(size) for size in range(1, 8))
    reading = collect(log, rotate_bytes=300)
    assert [one[0] for one in results(reading)] == [7]
    assert reading.transport == ["IB"], "earlier samples saw it, and the final read never takes a network away"
    assert reading.hints == ["the log was rotated 2 times at containerLogMaxSize (300 bytes); 6 rows in rotated files "
                             "are not counted"]
    assert len(collect(log).results) == 7


def lines_of(data: bytes) -> list[bytes]:
    return list(log_lines(io.BytesIO(data)))


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"a\n", b"a\n\nb\r\n", b"\n\n",
                                  b"x" * (CHUNK_BYTES - 1) + b"\nyy\nz"])
def test_lines_end_at_newlines_only(data: bytes) -> None:
    expected = data.split(b"\n")
    assert lines_of(data) == (expected if expected[-1] else expected[:-1])


def test_a_line_of_one_mebibyte_is_the_longest() -> None:
    most = b"x" * LINE_LIMIT_BYTES
    assert lines_of(most + b"\n" + most) == [most, most]


@pytest.mark.parametrize("end", [b"", b"\n", b"\nnext\n"])
def test_a_longer_line_cannot_be_read(end: bytes) -> None:
    read = []
    with pytest.raises(LogUnreadable, match="line 2 is longer than 1 MiB") as caught:
        for line in log_lines(io.BytesIO(b"first\n" + b"x" * (LINE_LIMIT_BYTES + 1) + end)):
            read.append(line)
    assert read == [b"first"] and not caught.value.retryable
