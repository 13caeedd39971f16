"""Amounts of resources as Kubernetes writes them, and what a pod asks for all in all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal

from distsim.scheduler.read.pod_objects import Container, PodSpec

CHIP_PREFIXES = ("huawei.com/Ascend", "huawei.com/npu", "huawei.com/Atlas", "nvidia.com/gpu")
_VIRTUAL = re.compile(r"huawei\.com/(npu-core|Ascend[0-9A-Z]+-[0-9]+c.*)", re.ASCII)
_QUANTITY = re.compile(r"(\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)(n|u|m|k|[KMGTPE]i?|)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
MOST = 2**63 - 1


class WrongAmount(ValueError):
    """An amount that cannot be used. key : its resource. part : requests or limits."""

    def __init__(self, message: str, key: str, part: str):
        super().__init__(message)
        self.key, self.part = key, part


def is_chip(resource: str) -> bool:
    """Whether a resource is chips (GPUs or NPUs)."""
    return resource.startswith(CHIP_PREFIXES)


def amount(resource: str, given: str | int | float, part: str = "requests") -> int:
    """A quantity as a whole number: cpu in milli, all else in its unit (memory in bytes), rounded up; chips are whole.

    Raises WrongAmount, for a virtual chip too."""
    if _VIRTUAL.fullmatch(resource):
        raise WrongAmount(f"{resource} is a virtual chip; only whole chips are placed, and parts of them by "
                          "schedule_policy chip1-softShareDev", resource, part)
    found = _QUANTITY.fullmatch(str(given)) if not isinstance(given, bool) else None
    if found is None:
        raise WrongAmount(f"{given!r} is not a quantity of {resource}; valid: e.g. 8, 500m or 800Gi", resource, part)
    number, suffix = Decimal(found[1]), found[2]
    exact = number * 2 ** _BINARY[suffix] if suffix in _BINARY else number.scaleb(_DECIMAL[suffix])
    if resource == "cpu":
        exact *= 1000
    if exact > MOST:
        raise WrongAmount(f"{given!r} of {resource} is too large", resource, part)
    if is_chip(resource) and exact != exact.to_integral_value():
        raise WrongAmount(f"{given!r} of {resource} is not a whole number of chips", resource, part)
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def of_pod(spec: PodSpec) -> dict[str, int]:
    """What a pod asks for: the sum over its containers, or what one that runs first needs if that is more."""
    total: dict[str, int] = {}
    for container in spec.containers:
        for name, count in of_container(container).items():
            total[name] = total.get(name, 0) + count
    for container in spec.initContainers:
        for name, count in of_container(container).items():
            total[name] = max(total.get(name, 0), count)
    return total


def of_container(container: Container) -> dict[str, int]:
    """Requests of a container, its limits where it has none; WrongAmount if those of chips differ."""
    requests = {name: amount(name, given) for name, given in container.resources.requests.items()}
    limits = {name: amount(name, given, "limits") for name, given in container.resources.limits.items()}
    for name, count in requests.items():
        if is_chip(name) and limits.get(name, count) != count:
            raise WrongAmount(f"{name}: requests {count} and limits {limits[name]} differ; chips need the same in both",
                              name, "requests")
    return {name: count for name, count in (limits | requests).items() if count}


def chip_resources(requests: Iterable[Mapping[str, int]]) -> list[str]:
    """The names of chips that pods ask for, each once, in order."""
    return list(dict.fromkeys(name for request in requests for name in request if is_chip(name)))
