"""Time stamps in logs: those that Kubernetes puts before lines, and those that a Go time layout describes.

An instant is a whole number of picoseconds since 1970-01-01T00:00:00Z, as simulated time is counted.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

SECOND_PS = 10**12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Facts: NVIDIA/cluster-readiness-engine pkg/goodput/parser.go: RFC 3339 with a zone, then white space.
_KUBERNETES = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)\s")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FRACTION = r"(?:[.,](?P<fraction>\d+))"
# Words of a Go time layout -> expression; longer ones first. Facts: Go, package time, Constants.
_WORDS = {
    "January": r"(?P<month_name>[A-Za-z]{3,9})", "Monday": "(?:" + "|".join(_DAYS) + ")", "2006": r"(?P<year>\d{4})",
    "Z07:00": r"(?P<zone>Z|[+-]\d\d:\d\d)", "-07:00": r"(?P<zone>[+-]\d\d:\d\d)", "Z0700": r"(?P<zone>Z|[+-]\d{4})",
    "-0700": r"(?P<zone>[+-]\d{4})", "Jan": r"(?P<month_name>[A-Za-z]{3})",
    "Mon": "(?:" + "|".join(day[:3] for day in _DAYS) + ")", "MST": r"(?:UTC|GMT)", "01": r"(?P<month>\d\d)",
    "02": r"(?P<day>\d\d)", "03": r"(?P<hour12>\d\d)", "04": r"(?P<minute>\d\d)", "05": r"(?P<second>\d\d)",
    "06": r"(?P<year2>\d\d)", "15": r"(?P<hour>\d\d)", "PM": r"(?P<half>[AP]M)", "_2": r" ?(?P<day>\d{1,2})",
    "1": r"(?P<month>\d{1,2})", "2": r"(?P<day>\d{1,2})", "3": r"(?P<hour12>\d{1,2})", "4": r"(?P<minute>\d{1,2})",
    "5": r"(?P<second>\d{1,2})",
}
_WORD = re.compile("|".join(re.escape(word) for word in _WORDS) + r"|[.,](?:9+|0+)(?!\d)")


def kubernetes_stamp(line: bytes) -> tuple[int | None, bytes]:
    """The instant of a line's Kubernetes time stamp (None if it has none), and the rest of the line."""
    found = _KUBERNETES.match(line)
    if found is None:
        return None, line
    try:
        time = datetime.fromisoformat((found[1] + found[3]).decode("ascii"))
    except ValueError:
        return None, line
    return instant_ps(time, (found[2] or b"").decode("ascii")), line[found.end():]


def instant_ps(time: datetime, fraction: str = "") -> int:
    """Picoseconds since 1970 of a time with a zone, whose second has these decimal places."""
    whole = (time - _EPOCH) // timedelta(seconds=1)
    return whole * SECOND_PS + int(fraction[:12].ljust(12, "0"))


class Layout:
    """A Go time layout, e.g. ``2006-01-02 15:04:05.999999``. Times without a zone are UTC.

    ValueError if it does not hold a year, a month, a day, an hour, a minute and a second.
    """

    def __init__(self, text: str):
        self.text = text
        self._pattern = re.compile(_expression(text), re.ASCII)
        names = set(self._pattern.groupindex)
        missing = [what for what, forms in (("year", {"year", "year2"}), ("month", {"month", "month_name"}),
                                            ("day", {"day"}), ("hour", {"hour", "hour12"}), ("minute", {"minute"}),
                                            ("second", {"second"})) if not names & forms]
        if missing:
            raise ValueError(f"{text!r} is no Go time layout with {', '.join(missing)}; e.g. "
                             "'2006-01-02 15:04:05.999999'")

    def parse(self, text: str) -> int | None:
        """The instant of a time in this layout, ps since 1970; None if it is none."""
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        part = found.groupdict()
        try:
            time = datetime.fromisoformat(
                f"{_year(part):04d}-{_month(part):02d}-{int(part['day']):02d}T{_hour(part):02d}:"
                f"{int(part['minute']):02d}:{int(part['second']):02d}{_zone(part)}")
        except ValueError:
            return None
        return instant_ps(time, part.get("fraction") or "")


def _expression(layout: str) -> str:
    made, at = "", 0
    has_fraction = False
    for found in _WORD.finditer(layout):
        made += re.escape(layout[at:found.start()])
        at, word = found.end(), found[0]
        if word[0] in ".,":
            made += _FRACTION + ("?" if word[1] == "9" else "")
            has_fraction = True
        else:
            made += _WORDS[word]
    made += re.escape(layout[at:])
    # Go takes a fraction after the seconds even where the layout has none.
    for second in (() if has_fraction else (_WORDS["05"], _WORDS["5"])):
        made = made.replace(second, f"{second}{_FRACTION}?")
    try:
        re.compile(made)
    except re.error:
        raise ValueError(f"{layout!r} is no Go time layout: a part of it stands there twice") from None
    return made


def _year(part: dict[str, str | None]) -> int:
    if part.get("year"):
        return int(part["year"] or 0)
    short = int(part["year2"] or 0)
    return short + (1900 if short >= 69 else 2000)


def _month(part: dict[str, str | None]) -> int:
    name = (part.get("month_name") or "").lower()
    if not name:
        return int(part["month"] or 0)
    return next((number for number, month in enumerate(_MONTHS, 1) if name in (month, month[:3])), 0)


def _hour(part: dict[str, str | None]) -> int:
    if part.get("hour") is not None:
        return int(part["hour"] or 0)
    hour = int(part["hour12"] or 0)
    if part.get("half") is None:
        return hour
    return hour % 12 + 12 * (part["half"] == "PM") if 1 <= hour <= 12 else 99


def _zone(part: dict[str, str | None]) -> str:
    zone = part.get("zone") or "Z"
    return zone if zone == "Z" or ":" in zone else f"{zone[:3]}:{zone[3:]}"
