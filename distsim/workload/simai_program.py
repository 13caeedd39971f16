"""What one rank does in a SimAI workload: steps in order, the same on every rank.

Rules: aliyun/SimAI, astra-sim-alibabacloud/astra-sim/workload/Workload.cc (iterate_*) and Layer.cc.

- A pass of a layer is its compute, then its collective, then `update_ns` for the result; a collective of 0 bytes, of
  type NONE or of a group of one rank is left out with its update.
- Transformer policies: forwards of all layers; then from the last layer to the first input gradient and weight
  gradient. Forward and input-gradient collectives hold the rank up; a weight-gradient one runs beside what follows, and
  the layer's forward of the next pass waits for it. Without a suffix the former are TP, the latter DP.
- ``checkpoint_initiates`` of HYBRID_TRANSFORMER_FWD_IN_BCKWD: before the input gradient of such a layer the forwards
  from the nearest of ``checkpoints`` below up to it are done again.
- DATA: weight-gradient collectives of all ranks only, the layer's input gradient after its weight gradient.
- MODEL: forward collectives of all ranks hold the rank up, input-gradient ones run beside the weight gradient.
- DISTRIBUTED_INFERENCE: forwards only, as MODEL. MICRO: the first layer's weight-gradient collective of all ranks, all
  passes at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from distsim.workload.graph import ALL_GATHER, COLL, COMP, FIXED
from distsim.workload.simai_degrees import ALL, DP, TP, TRANSFORMERS, Degrees
from distsim.workload.simai_text import Layer, Pass, SimaiText


@dataclass(frozen=True)
class Step:
    """kind : COMP, FIXED or COLL; domain : of a COLL; size_bytes : as NODES.size_bytes; after : steps it waits for."""

    kind: int
    name: str
    after: tuple[int, ...]
    duration_ps: int = 0
    collective: int = 0
    domain: str = ""
    size_bytes: int = 0


class _Program:
    """Steps being written down. `tail` : what the next step of the main line waits for."""

    def __init__(self, text: SimaiText, degrees: Degrees):
        self.text, self.degrees = text, degrees
        self.steps: list[Step] = []
        self.tail: tuple[int, ...] = ()
        self.weights: dict[int, int] = {}       # layer -> step after which its weights are new

    def compute(self, name: str, time_ns: int) -> None:
        """A computation of the main line."""
        if time_ns:
            self.steps.append(Step(COMP, name, self.tail, 1000 * time_ns))
            self.tail = (len(self.steps) - 1,)

    def communicate(self, name: str, one: Pass, domain: str, update_ns: int) -> int:
        """The collective of a pass beside the main line; its last step, -1 when there is none."""
        domain = one.domain or domain
        members = self.degrees.members(domain)
        if one.collective < 0 or not one.size_bytes or members == 1:
            return -1
        # Size of a COLL (collectives/README.md): what each rank gives to an all-gather, the whole of all others.
        size_bytes = -(-one.size_bytes // members) if one.collective == ALL_GATHER else one.size_bytes
        self.steps.append(Step(COLL, name, self.tail, collective=one.collective, domain=domain, size_bytes=size_bytes))
        if update_ns:
            self.steps.append(Step(FIXED, f"{name} update", (len(self.steps) - 1,), 1000 * update_ns))
        return len(self.steps) - 1

    def hold(self, step: int) -> None:
        """The main line waits for a step."""
        if step >= 0:
            self.tail = tuple(dict.fromkeys((*self.tail, step)))

    def forward(self, index: int, layer: Layer, domain: str, talks: bool = True) -> None:
        """The forward pass of a layer; its collective holds the rank up."""
        self.hold(self.weights.pop(index, -1))
        self.compute(f"{layer.name} forward", layer.forward.time_ns)
        if talks:
            self.block(f"{layer.name} forward", layer.forward, domain, layer.update_ns)

    def block(self, name: str, one: Pass, domain: str, update_ns: int) -> None:
        """A collective of the main line."""
        step = self.communicate(name, one, domain, update_ns)
        if step >= 0:
            self.tail = (step,)

    def weight_grad(self, index: int, layer: Layer, domain: str) -> None:
        """The weight gradient of a layer; its collective runs beside what follows."""
        self.compute(f"{layer.name} weight-gradient", layer.weight_grad.time_ns)
        step = self.communicate(f"{layer.name} weight-gradient", layer.weight_grad, domain, layer.update_ns)
        if step >= 0:
            self.weights[index] = step


def program(text: SimaiText, degrees: Degrees, passes: int) -> list[Step]:
    """The steps of every rank for so many passes; InputError for a policy that is not modelled."""
    if text.policy not in _POLICIES:
        text.fail(1, f"policy {text.policy} is not modelled; valid: {', '.join(_POLICIES)}")
    made = _Program(text, degrees)
    for _ in range(passes):
        _POLICIES[text.policy](made)
    return made.steps


def _transformer(made: _Program) -> None:
    layers = made.text.layers
    again = made.text.lists.get("checkpoint_initiates", ()) if made.text.policy == TRANSFORMERS[0] else ()
    for index, layer in enumerate(layers):
        made.forward(index, layer, TP)
    for index in reversed(range(len(layers))):
        layer = layers[index]
        if index in again:
            below = [first for first in made.text.lists.get("checkpoints", ()) if first <= index]
            if not below:
                made.text.fail(1, f"checkpoint_initiates names layer {index}, but no layer of checkpoints is below it")
            for redo in range(max(below), index):
                made.forward(redo, layers[redo], TP)
        made.compute(f"{layer.name} input-gradient", layer.input_grad.time_ns)
        made.block(f"{layer.name} input-gradient", layer.input_grad, TP, layer.update_ns)
        made.weight_grad(index, layer, DP)


def _data(made: _Program) -> None:
    layers = made.text.layers
    for index, layer in enumerate(layers):
        made.forward(index, layer, ALL, talks=False)
    for index in reversed(range(len(layers))):
        made.weight_grad(index, layers[index], ALL)
        if index:
            made.compute(f"{layers[index].name} input-gradient", layers[index].input_grad.time_ns)


def _model(made: _Program) -> None:
    layers = made.text.layers
    _inference(made)
    for index in reversed(range(len(layers))):
        layer = layers[index]
        made.compute(f"{layer.name} input-gradient", layer.input_grad.time_ns)
        step = -1
        if index:
            step = made.communicate(f"{layer.name} input-gradient", layer.input_grad, ALL, layer.update_ns)
        made.compute(f"{layer.name} weight-gradient", layer.weight_grad.time_ns)
        made.hold(step)


def _inference(made: _Program) -> None:
    for index, layer in enumerate(made.text.layers):
        made.forward(index, layer, ALL)


def _micro(made: _Program) -> None:
    layer = made.text.layers[0]
    made.communicate(layer.name, layer.weight_grad, ALL, layer.update_ns)


_POLICIES: dict[str, Callable[[_Program], None]] = {
    **dict.fromkeys(TRANSFORMERS, _transformer),
    "DATA": _data,
    "MODEL": _model,
    "DISTRIBUTED_INFERENCE": _inference,
    "MICRO": _micro,
}
