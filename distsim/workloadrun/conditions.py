"""Whether an override applies: its conditions against what is known of the nodes and the workload.

Source: NVIDIA/cluster-readiness-engine, WhenSpec and how a Workflow's controller evaluates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .override_spec import When

VARIABLES = ("platform", "gpuArchitecture", "workloadKind", "topologyMode", "domainCount")
SIMPLE, BY_TOPOLOGY = "simple", "topology"
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Facts:
    """What conditions are held against; an unknown text is empty.

    topology_mode : `simple`, or `topology` when the orchestration has a topology. domain_count : domains of the nodes,
    0 if not counted. config : the run's performance configuration, None if it has none.
    """

    platform: str = ""
    gpu_architecture: str = ""
    workload_kind: str = "TrainJob"
    topology_mode: str = SIMPLE
    domain_count: int = 0
    config: dict[str, Any] | None = None


# An expression must give true or false for each of these, where it can be evaluated at all.
_TRIALS = (Facts(), Facts("aws", "h100", domain_count=1), Facts("sim", "gb200", "", BY_TOPOLOGY, 12))


def applies(when: When, facts: Facts) -> bool:
    """Whether all conditions that are given hold; ValueError if the expression cannot be evaluated."""
    topology = when.topology
    return bool(
        (when.platform is None or when.platform.holds(facts.platform))
        and (when.gpuArchitecture is None or when.gpuArchitecture.holds(facts.gpu_architecture))
        and (not when.workloadKind or when.workloadKind == facts.workload_kind)
        and (topology is None or not topology.mode or topology.mode == facts.topology_mode)
        and (topology is None or topology.domainCount is None or topology.domainCount.holds(facts.domain_count))
        and (when.config is None or (facts.config is not None and _is_part(when.config, facts.config)))
        and (not when.expression or _evaluate(when.expression, facts)))


def check_expression(text: str) -> None:
    """ValueError if a text is no CEL expression over the variables that gives true or false."""
    _program(text)
    errors = []
    for facts in _TRIALS:
        try:
            _evaluate(text, facts)
        except NotEvaluated as error:
            errors.append(error)
    if len(errors) == len(_TRIALS):
        raise errors[0]


def summary(when: When) -> str:
    """The conditions in one line, ``<always>`` if there are none."""
    parts = []
    if when.gpuArchitecture is not None:
        parts.append(f"gpuArchitecture={when.gpuArchitecture.summary()}")
    if when.platform is not None:
        parts.append(f"platform={when.platform.summary()}")
    if when.workloadKind:
        parts.append(f"workloadKind={when.workloadKind}")
    if when.topology is not None and when.topology.mode:
        parts.append(f"topology.mode={when.topology.mode}")
    if when.topology is not None and when.topology.domainCount is not None:
        parts.append(f"topology.domainCount={when.topology.domainCount.summary()}")
    if when.config is not None:
        parts.append("config=<custom>")
    if when.expression:
        text = when.expression
        parts.append(f"expression={text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN - 3] + '...'}")
    return ", ".join(parts) or "<always>"


class NotEvaluated(ValueError):
    """An expression that gives no answer for some facts."""


def _is_part(wanted: dict[str, Any], actual: Any) -> bool:
    """Whether every key and value of `wanted` is in `actual`, sections key by key."""
    if not isinstance(actual, dict):
        return False
    return all(key in actual
               and (_is_part(value, actual[key]) if isinstance(value, dict) else _same(value, actual[key]))
               for key, value in wanted.items())


def _same(first: Any, second: Any) -> bool:
    """Equality as in JSON: 1 is 1.0, but true is not 1."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    return bool(first == second)


def _evaluate(text: str, facts: Facts) -> bool:
    from celpy import CELEvalError
    from celpy.celtypes import BoolType, IntType, StringType

    values = (StringType(facts.platform), StringType(facts.gpu_architecture), StringType(facts.workload_kind),
              StringType(facts.topology_mode), IntType(facts.domain_count))
    try:
        answer = _program(text).evaluate(dict(zip(VARIABLES, values)))
    except CELEvalError as error:
        said = str(error.args[0] if error.args else error).splitlines()[0][:160]
        raise NotEvaluated(f"{text!r} cannot be evaluated: {said}") from None
    if not isinstance(answer, BoolType):
        raise ValueError(f"{text!r} gives {type(answer).__name__.removesuffix('Type').lower()}, not true or false")
    return bool(answer)


@lru_cache(maxsize=256)
def _program(text: str) -> Any:
    from celpy import CELParseError, Environment

    environment = Environment()
    try:
        tree = environment.compile(text)
    except CELParseError as error:
        column = f" at column {error.column}" if error.column else ""
        raise ValueError(f"{text!r} is not a CEL expression{column}") from None
    strangers = sorted({str(node.children[0]) for node in tree.find_data("ident")} - set(VARIABLES))
    if strangers:
        raise ValueError(f"{text!r} names {', '.join(strangers)}; the variables are {', '.join(VARIABLES)}")
    return environment.program(tree)
