"""Log profiles: those that come with distsim, those from YAML, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from measure_cases import row

from distsim.errors import InputError
from distsim.measure import LogProfile, builtin_profile, load_profile
from distsim.measure.patterns import Pattern
from distsim.measure.profile import Sample

DOCUMENT = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: LogProfile
metadata:
  name: mine
  uid: 0b5c
spec:
  timestamp:
    layout: "2006-01-02T15:04:05Z"
  containerName: node
  workerStrategy:
    type: Single
    replicatedJobName: launcher
  patterns:
    bandwidthResult:
      regex: 'size=(?P<size>\\S+) alg=(?P<algBW>\\S+) bus=(?P<busBW>\\S+)'
      example: 'size=8 alg=1.5 bus=2.5'
    networkTransport:
      regex: 'net: (?P<transport>.*)'
"""


def profile(tmp_path: Path, text: str = DOCUMENT) -> LogProfile:
    path = tmp_path / "profile.yaml"
    path.write_text(text)
    return load_profile(str(path))


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        profile(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_a_profile_from_yaml(tmp_path: Path) -> None:
    mine = profile(tmp_path)
    assert mine.name == "mine"
    assert mine.sample(b"at 10:00 size=8 alg=1.5e1 bus=-2.5 end") == Sample(8, 15.0, -2.5)
    assert mine.transport(b"net:  IB \r") == "IB"
    assert mine.transport(b"net:  ") is None
    assert mine.sample(row(8).encode()) is None


@pytest.mark.parametrize(("size", "algbw"), [
    ("0x10", "1"), ("1_0", "1"), ("8.0", "1"), ("-8", "1"), (str(2**63), "1"), ("\u0663", "1"),
    ("8", "1_0"), ("8", "1e999"), ("8", "inf"), ("8", "0x1p3"), ("8", "."),
])
def test_what_is_captured_must_be_an_int64_and_finite_numbers(tmp_path: Path, size: str, algbw: str) -> None:
    assert profile(tmp_path).sample(f"size={size} alg={algbw} bus=1".encode()) is None


def test_without_a_transport_expression_there_are_no_networks(tmp_path: Path) -> None:
    text = DOCUMENT[:DOCUMENT.index("    networkTransport")]
    assert profile(tmp_path, text).transport(b"net: IB") is None


def test_expressions_are_searched_and_lines_are_single_lines() -> None:
    assert Pattern("b(?P<x>.)$").search(b"abcbd", 1) == (b"d",)
    assert Pattern("^b").search(b"a\nb", 0) is None
    assert Pattern("(a)?(b)").search(b"b", 1, 2) == (b"", b"b")


@pytest.mark.parametrize(("text", "line"), [
    ("ab", b"xaby"), ("abc*d", b"abd"), ("abc?", b"ab"), ("abc{0,2}", b"ab"), ("ab|cd", b"cd"), ("abc+", b"abc"),
    ("(?i)ab", b"AB"), ("a b(?P<x>.)", b"a bc"),
])
def test_the_short_cut_for_plain_beginnings_loses_no_match(text: str, line: bytes) -> None:
    assert Pattern(text).search(line, 0) is not None


@pytest.mark.parametrize(("text", "line", "found"), [
    (r"^\s*(?P<size>\d+)", b" \t\r\f7", True), (r"^\s*(\d+)x", b"17x", True), (r"^\s*\d{2}", b"12", True),
    (r"^\s*\d", b"\x0b1", False), (r"^\s*\d", b"a1", False), (r"^\s*\d", b"", False), (r"^\s*\d*a", b"a", True),
    (r"^\s*(\d?)a", b"a", True), (r"^\s*(?P<size>\d+)?a", b"a", True), (r"^\s*(?P<size>\d+)*a", b"a", True),
    (r"^\s*(?P<size>\d+a)?b", b"b", True), (r"^\s*(?P<size>\d+){0}a", b"a", True),
    (r"^\s*\d{0,2}a", b"a", True), (r"^\s*\d|b", b"b", True),
    (r"^\s*(?P<size>\d+)", "\u0661".encode(), False),
])
def test_the_short_cut_for_lines_that_begin_with_a_digit(text: str, line: bytes, found: bool) -> None:
    assert (Pattern(text).search(line, 0) is not None) is found


@pytest.mark.parametrize("regex", ["(?=a)", "(a)\\1", "a(?<!b)", "(", "a**"])
def test_what_re2_refuses_is_refused_with_its_words(tmp_path: Path, regex: str) -> None:
    said = refused(tmp_path, DOCUMENT.replace("'net: (?P<transport>.*)'", repr(regex).replace("\\\\", "\\")))
    assert said.startswith("profile.yaml:18: spec.patterns.networkTransport.regex: ")
    assert "is not an RE2 expression: " in said and said.count("\n") == 0


def test_re2_stays_linear() -> None:
    """A backtracking engine would need 2**40 steps."""
    assert Pattern("^(a+)+$").search(b"a" * 40 + b"b", 0) is None


@pytest.mark.parametrize(("change", "said"), [
    (("(?P<busBW>", "(?P<bus>"),
     "profile.yaml:15: spec.patterns.bandwidthResult.regex: bandwidthResult lacks the group busBW; it needs size, "
     "algBW and busBW"),
    (("(?P<transport>", "(?P<net>"),
     "profile.yaml:18: spec.patterns.networkTransport.regex: networkTransport lacks the group transport"),
    (("size=8 alg=1.5", "size=8 al=1.5"),
     "profile.yaml:16: spec.patterns.bandwidthResult.example: the regex does not match its own example 'size=8 al=1.5 "
     "bus=2.5'"),
    (("    bandwidthResult:", "    trainingStep:"),
     "profile.yaml:13: spec.patterns: bandwidthResult is required: the expression of a result row"),
    (("    layout:", "    layuot:"), "profile.yaml:7: spec.timestamp.layout: this key is required: Go time layout"),
    (("kind: LogProfile", "kind: Profile"), "profile.yaml:2: kind: 'Profile' is not valid; valid values: LogProfile"),
    (("containerName", "container"), "profile.yaml:9: spec.container: unknown key 'container'; nearest valid name: "),
    (("type: Single", "type: One"), "profile.yaml:11: spec.workerStrategy.type: 'One' is not valid; valid values: "),
    (("name: mine", "name: ''"), "profile.yaml:4: metadata.name: '' is not valid"),
])
def test_a_wrong_profile_is_refused_at_its_place(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert DOCUMENT.count(change[0]) >= 1
    assert refused(tmp_path, DOCUMENT.replace(*change)).startswith(said)


def test_a_file_holds_one_profile(tmp_path: Path) -> None:
    twice = f"{DOCUMENT}---\n{DOCUMENT}"
    assert refused(tmp_path, twice) == "profile.yaml: holds 2 documents; one LogProfile is wanted"
    assert refused(tmp_path, "# nothing\n---\n") == "profile.yaml: the file is empty"
    assert profile(tmp_path, f"---\n# mine\n{DOCUMENT}---\n").name == "mine"


def test_the_line_numbers_of_a_later_document_are_those_of_the_file(tmp_path: Path) -> None:
    assert refused(tmp_path, "# one\n---\n" + DOCUMENT.replace("kind: LogProfile", "kind: X")).startswith(
        "profile.yaml:4: kind: ")


def test_unknown_names_and_missing_files() -> None:
    with pytest.raises(InputError, match="no log profile 'nccl'; there are nccl-bandwidth, nccl-bandwidth-tagged, "):
        load_profile("nccl")
    with pytest.raises(InputError, match=r"^/none/profile.yaml: no such file$"):
        load_profile("/none/profile.yaml")
    assert builtin_profile("nccl") is None
    assert load_profile("nccl-bandwidth-old").name == "nccl-bandwidth-old"
