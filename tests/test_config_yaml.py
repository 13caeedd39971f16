"""The YAML reader: scalars, line numbers, and every kind of broken text as one line with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from distsim.config.yaml_reader import parse, read_text
from distsim.errors import InputError


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = ("a: true\nb: yes\nc: 1e-3\nd: 010\ne: 0x10\nf: ~\ng:\nh: 400Gbps\ni: '7'\nj: 1:30\nk: 2020-01-01\n"
            "l: .5\nm: -.inf\n")
    assert parse(text).data == {
        "a": True, "b": "yes", "c": 0.001, "d": 10, "e": 16, "f": None, "g": None, "h": "400Gbps", "i": "7",
        "j": "1:30", "k": "2020-01-01", "l": 0.5, "m": float("-inf")}


def test_lines_of_keys_and_entries() -> None:
    lines = parse("# c\na: &x\n  b: 1\nc: *x\nd:\n  - 1\n  - {e: 2}\n").lines
    assert lines[("a", "b")] == 3
    assert lines[("c",)] == 4
    assert lines[("d", 1, "e")] == 7


@pytest.mark.parametrize(("text", "message"), [
    ("", "f.yaml: the file is empty"),
    ("# only a comment\n", "f.yaml: the file is empty"),
    ("a: 1\nb: 2\na: 3\n", "f.yaml:3: duplicate key 'a', first on line 1"),
    ("a:\n  b: 1\n  b: 1\n", "f.yaml:3: a: duplicate key 'b', first on line 2"),
    ("a:\n\tb: 1\n", "f.yaml:2: broken YAML: found character that cannot start any token (while scanning for the next "
                     "token); tabs cannot indent YAML, use spaces"),
    ("a: [1\n b: 2\n", "f.yaml:2: broken YAML: "),
    ("a: b: c\n", "f.yaml:1: broken YAML: mapping values are not allowed"),
    ("a: \"open\n", "f.yaml:2: broken YAML: "),
    ("\0\1\2", "f.yaml:1: not YAML: control characters (a binary file?)"),
    ("a: &x [*x]\n", "f.yaml:1: a.0: an alias that contains itself"),
    ("a: !!python/object:os.system ls\n", "f.yaml:1: a: tag 'tag:yaml.org,2002:python/object:os.system'"),
    ("? [a]\n: b\n", "f.yaml:1: a key must be plain text"),
    ("a: 1\n---\nb: 2\n", "f.yaml:2: broken YAML: but found another document"),
    ("a: !!int x\n", "f.yaml:1: a: 'x' is not a number"),
    ("a: 1" + "0" * 5000, "f.yaml:1: a: '1"),
])
def test_broken_text(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_an_alias_bomb_is_refused() -> None:
    levels = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 20)}]" for i in range(1, 8))
    with pytest.raises(InputError, match="aliases that repeat too much"):
        parse(f"l0: &l0 [1]\n{levels}\n")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        read_text(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    (tmp_path / "bin.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(InputError, match=r"bin\.yaml:2: not a text file \(UTF-8 expected\)"):
        read_text(tmp_path / "bin.yaml")
