"""Thresholds: CEL expressions over `value`, evaluated against final results only. What is not measured fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsim.errors import InputError

from .status import Reason, Status

EXIT_THRESHOLD = 4
BUS, ALG = "busBandwidthGBps", "algBandwidthGBps"
KEYS = (BUS, ALG, "goodputRatio", "avgTFLOPsPerGPU", "avgStepTimeSec")
# An expression must give a boolean at each of these, so that one with two kinds of answers is found when it is read.
_TRIALS = (0.0, 1.0, 45.5, 1e6)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one threshold.

    measured : the value, GB/s; None if it was not measured, and then `passed` is False.
    message : one line to print; empty if it passed.
    """

    key: str
    expression: str
    measured: float | None
    passed: bool
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"key": self.key, "expression": self.expression, "measured": self.measured, "passed": self.passed}


class Threshold:
    """One ``key=expression``; InputError if the key is unknown or the expression is not a boolean over `value`."""

    def __init__(self, text: str):
        """`text` as the option --threshold gives it."""
        key, equals, expression = text.partition("=")
        self.key, self.expression = key.strip(), expression.strip()
        if not equals or not self.expression or not self.key.isidentifier():
            raise InputError(f"{text!r} is not KEY=EXPRESSION, e.g. {BUS}=value >= 45", where="--threshold")
        if self.key not in KEYS:
            raise InputError(f"unknown threshold key(s) [{self.key}]; valid keys: [{' '.join(KEYS)}]",
                             where="--threshold")
        self._program = self._compiled()

    def judge(self, status: Status, misread: bool = False) -> Verdict:
        """The verdict on a complete measurement; `misread` says that its rows are known to be read wrong."""
        value, why = self._value(status, misread)
        if value is None:
            return Verdict(self.key, self.expression, None, False,
                           f'Threshold "{self.key}" not evaluated, so it fails: {why}')
        passed = self.holds(value)
        violated = f'Threshold "{self.key}" violated: measured {value:.4f}, expression: {self.expression}'
        return Verdict(self.key, self.expression, value, passed, "" if passed else violated)

    def _value(self, status: Status, misread: bool) -> tuple[float | None, str]:
        if status.complete is None or status.reason is not Reason.JOB_SUCCEEDED:
            reason = f"{status.reason.value}: " if status.reason is not None else ""
            return None, f"{reason}{status.message}"
        if misread:
            return None, "rows have a column layout that the profile misreads"
        if self.key not in (BUS, ALG):
            return None, "a bandwidth measurement does not measure it"
        return max(float(row.busbw if self.key == BUS else row.algbw) for row in status.results), ""

    def holds(self, value: float) -> bool:
        """Whether the expression is true; an expression that fails at this value does not hold."""
        try:
            return self._evaluate(value)
        except ValueError:
            return False

    def _evaluate(self, value: float) -> bool:
        from celpy import CELEvalError
        from celpy.celtypes import BoolType, DoubleType

        try:
            answer = self._program.evaluate({"value": DoubleType(value)})
        except CELEvalError as error:
            said = error.args[0] if error.args else error
            raise ValueError(f"cannot be evaluated at {value:g}: {str(said).splitlines()[0][:160]}") from None
        if not isinstance(answer, BoolType):
            raise ValueError(f"gives {type(answer).__name__.removesuffix('Type').lower()}, not true or false")
        return bool(answer)

    def _compiled(self) -> Any:
        from celpy import CELParseError, Environment

        environment = Environment()
        try:
            tree = environment.compile(self.expression)
        except CELParseError as error:
            column = f" at column {error.column}" if error.column else ""
            raise self._refused(f"is not a CEL expression{column}") from None
        strangers = sorted({str(node.children[0]) for node in tree.find_data("ident")} - {"value"})
        if strangers:
            raise self._refused(f"names {', '.join(strangers)}; the only variable is value")
        self._program = environment.program(tree)
        try:
            for trial in _TRIALS:
                self._evaluate(trial)
        except ValueError as error:
            raise self._refused(str(error)) from None
        return self._program

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self.expression!r} {why}", where=f"--threshold {self.key}")
