"""Small nccl-tests logs, written out by hand."""

from __future__ import annotations

from distsim.measure import LogProfile, builtin_profile
from distsim.measure.collect import Collector, Reading

HEADER = ("#       size         count      type   redop    root"
          "     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
          "#        (B)    (elements)                          "
          "     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")


def row(size: int = 1024, algbw: str = "1.50", busbw: str = "2.50", wrong: str = "0", redop: str = "sum",
        root: str = "-1") -> str:
    """One row in today's layout; its in-place half says 9.99 everywhere, so that reading it would be seen."""
    return (f"{size:>12}  {size // 4:>12}     float  {redop:>6}  {root:>6}    35.15  {algbw:>6}  {busbw:>6}  {wrong:>6}"
            "    33.65    9.99    9.99       0\n")


def old_row(size: int = 1024, time: str = "122131", algbw: str = "2.20", busbw: str = "4.33", error: str = "2e-06",
            columns: str = "float     sum") -> str:
    """One row in the layout without a root column."""
    half = f"{time}    {algbw}    {busbw}  {error}"
    return f"{size:>12}  {size // 4:>12}     {columns}   {half}   {half}\n"


def profile(name: str = "nccl-bandwidth") -> LogProfile:
    found = builtin_profile(name)
    assert found is not None
    return found


def collect(text: str | bytes, name: str = "nccl-bandwidth", rotate_bytes: int | None = None) -> Reading:
    """The reading of a text, line by line."""
    collector = Collector(profile(name), rotate_bytes)
    raw = text.encode() if isinstance(text, str) else text
    lines = raw.split(b"\n")
    for line in lines[:-1] if lines[-1] == b"" else lines:
        collector.line(line)
    return collector.reading()


def results(reading: Reading) -> list[tuple[int, str, str, int]]:
    return [(one.size_bytes, one.algbw, one.busbw, one.samples) for one in reading.results]
