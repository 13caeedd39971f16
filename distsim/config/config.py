"""`Config`: a checked configuration with every default filled in, and what the rest of the program asks of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

from .faults import FaultsSection
from .nic import Nic
from .overrides import NicOverride, SwitchOverride, files_of, is_file, overridden, plain
from .parameters import SimulationParameters, seconds_to_ps
from .plugin_file import plugin_file
from .problems import ConfigError, Rules, problem
from .rules import nic_link_rules, nic_rules
from .rules_switch import switch_fabric_rules, switch_rules
from .switch import Switch
from .yaml_reader import Document

if TYPE_CHECKING:
    from distsim.fabric.links import LinkRules


@dataclass(eq=False)
class Config:
    """A configuration. NICs and switches with equal attributes share one frozen object, so `id()` tells classes apart.

    simulation : name of the run, first part of every record file's name.
    seed : seed of every random draw.
    parameters : global simulation parameters.
    fabric, workload : spec of the topology and of the workload (class by kind, see their packages' registries).
    nic, switch : attributes without the overrides.
    nic_overrides, switch_overrides : in the order of the file; a later one wins.
    document : the source, for messages.
    faults : what fails in the fabric, None: nothing.
    bandwidth_measurement : how the bandwidth of a job of nccl-tests is measured while it runs, None: it is not.
    """

    simulation: str
    seed: int
    parameters: SimulationParameters
    fabric: Any
    workload: Any
    nic: Nic
    switch: Switch
    nic_overrides: tuple[NicOverride, ...]
    switch_overrides: tuple[SwitchOverride, ...]
    document: Document = field(repr=False)
    bandwidth_measurement: Any = None
    faults: FaultsSection | None = None
    _nics: dict[tuple[int, ...], Nic] = field(default_factory=dict, repr=False)
    _switches: dict[tuple[int, ...], Switch] = field(default_factory=dict, repr=False)

    @property
    def source(self) -> Path | None:
        """The YAML file, None when the configuration came from Python."""
        return Path(self.document.file) if self.document.file else None

    @cached_property
    def start_ps(self) -> int:
        """StartTime in picoseconds."""
        return seconds_to_ps(self.parameters.StartTime)

    @cached_property
    def workload_start_ps(self) -> int:
        """StartTime + ClientStartOffset: when the workload starts, and what the periodic rows count from."""
        return self.start_ps + seconds_to_ps(self.parameters.ClientStartOffset)

    @cached_property
    def stop_ps(self) -> int:
        """StartTime + WarmUp + RunTime + CoolDown: when the run stops at the latest."""
        parts = (self.parameters.WarmUp, self.parameters.RunTime, self.parameters.CoolDown)
        return self.start_ps + sum(seconds_to_ps(part) for part in parts)

    @cached_property
    def interval_ps(self) -> int:
        """NDStatsReportInterval in picoseconds."""
        return seconds_to_ps(self.parameters.NDStatsReportInterval)

    @cached_property
    def beacon_interval_ps(self) -> int:
        """BeaconReportInterval in picoseconds."""
        return seconds_to_ps(self.parameters.BeaconReportInterval)

    @cached_property
    def buffers_interval_ps(self) -> int:
        """NetworkBufferStatsReportingInterval in picoseconds."""
        return seconds_to_ps(self.parameters.NetworkBufferStatsReportingInterval)

    @property
    def switch_buffers_interval_ps(self) -> int:
        """BufferStatsReportInterval, the same for every switch while their buffer records are on."""
        return self.switch.SharedBufferManager.BufferStatsReportInterval

    @property
    def trigger_delay_ps(self) -> int:
        """TriggerDelay in picoseconds."""
        return self.parameters.TriggerDelay

    def nic_for(self, host_index: int, rack: int, name: str) -> Nic:
        """Attributes of one NIC; InputError if overrides that are right one by one do not fit together."""
        chosen = tuple(i for i, override in enumerate(self.nic_overrides) if override.matches(name, rack))
        if chosen not in self._nics:
            nic = overridden(self.nic, [self.nic_overrides[i].set for i in chosen])
            self._check(chosen, "nic_overrides", f"{name} (host {host_index})", nic_rules(nic))
            self._nics[chosen] = next((known for known in self._nics.values() if known == nic), nic)
        return self._nics[chosen]

    def switch_for(self, name: str, tier: int) -> Switch:
        """Attributes of one switch of tier 0 (spine), 1 (fabric) or 2 (rack); InputError as for `nic_for`."""
        chosen = tuple(i for i, override in enumerate(self.switch_overrides) if override.matches(name, tier))
        if chosen not in self._switches:
            switch = overridden(self.switch, [self.switch_overrides[i].set for i in chosen])
            self._check(chosen, "switch_overrides", name, switch_rules(switch, self.largest_mss_bytes))
            self._switches[chosen] = next((known for known in self._switches.values() if known == switch), switch)
        return self._switches[chosen]

    @cached_property
    def largest_mss_bytes(self) -> int:
        """Largest RdmaDataMSS of any NIC, in bytes."""
        return max(nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS for nic in self.nic_variants)

    @cached_property
    def nic_variants(self) -> list[Nic]:
        """`nic`, then `nic` with each override by itself."""
        return [self.nic, *(overridden(self.nic, [override.set]) for override in self.nic_overrides)]

    @cached_property
    def switch_variants(self) -> list[Switch]:
        """`switch`, then `switch` with each override by itself."""
        return [self.switch, *(overridden(self.switch, [override.set]) for override in self.switch_overrides)]

    @property
    def plugin_file(self) -> str | None:
        """Absolute path of the user's file with a congestion control or spraying that any NIC runs, None if none."""
        return plugin_file(self.nic_variants)

    def link_rules(self) -> LinkRules:
        """Rates and delays of ports, as the builders in `distsim.fabric` ask for them."""
        from distsim.fabric.links import LinkRules, NicLink, SwitchLink

        def nic(host_index: int, name: str, rack: int) -> NicLink:
            port = self.nic_for(host_index, rack, name).NetworkInterface
            return NicLink(port.UplinkNetworkInterface.DataRate, port.TransmissionMedium.Delay)

        def switch(tier: int, name: str) -> SwitchLink:
            ports = self.switch_for(name, tier).NetworkInterface
            return SwitchLink(ports.UplinkNetworkInterface.DataRate, ports.DownlinkNetworkInterface.DataRate,
                              ports.TransmissionMedium.Delay)

        return LinkRules(nic=nic, switch=switch)

    def check_link(self, nic: Nic, link_bps: int, name: str) -> None:
        """Check a NIC against the rate of its link in the fabric; InputError names the rule that is broken."""
        for place, message in nic_link_rules(nic, link_bps):
            raise problem(self.document, ("nic", *place), f"{name}: {message}")

    def check_switch(self, switch: Switch, connected_ports: int, name: str) -> None:
        """Check a switch against the number of its links in the fabric; InputError names the rule that is broken."""
        for place, message in switch_fabric_rules(switch, connected_ports, self.largest_mss_bytes):
            raise problem(self.document, ("switch", *place), f"{name}: {message}")

    def check_overrides(self, nics: Iterable[tuple[str, int]], switches: Iterable[tuple[str, int]]) -> None:
        """Refuse an override that selects nothing. `nics` : (name, rack), `switches` : (name, tier), of the fabric."""
        nic_list, switch_list = list(nics), list(switches)
        idle = [("nic_overrides", i) for i, override in enumerate(self.nic_overrides)
                if not any(override.matches(name, rack) for name, rack in nic_list)]
        idle += [("switch_overrides", i) for i, override in enumerate(self.switch_overrides)
                 if not any(override.matches(name, tier) for name, tier in switch_list)]
        if idle:
            found: list[InputError] = [problem(self.document, place, "this override selects nothing in this fabric")
                                       for place in idle]
            raise ConfigError(found)

    def canonical(self) -> dict[str, Any]:
        """Every value, defaults included, as plain data that YAML and JSON can hold, quantities with their units."""
        return {
            "simulation": self.simulation, "seed": self.seed,
            "SimulationParameters": plain(self.parameters),
            "fabric": plain(self.fabric), "workload": plain(self.workload),
            "nic": plain(self.nic),
            "nic_overrides": [plain(override, True) for override in self.nic_overrides],
            "switch": plain(self.switch),
            "switch_overrides": [plain(override, True) for override in self.switch_overrides],
        } | {key: plain(section) for key, section in (("faults", self.faults),
                                                       ("bandwidthMeasurement", self.bandwidth_measurement))
             if section is not None}

    def digest(self) -> str:
        """SHA-256 of `canonical`, hexadecimal; input files count by their content, not by their path."""
        return hashlib.sha256(json.dumps(_content(self.canonical()), sort_keys=True).encode()).hexdigest()

    def placed(self, error: InputError) -> InputError:
        """The same error with file and line, when it says no more than where (``workload.hosts``) it is."""
        place = tuple(int(key) if key.isdigit() else key for key in (error.where or "").split("."))
        if error.file is not None or place[0] not in self.document.data:
            return error
        return problem(self.document, place, error.message)

    def _check(self, chosen: tuple[int, ...], section: str, name: str, rules: Rules) -> None:
        for place, message in rules:
            where = (section, chosen[-1]) if chosen else (section.removesuffix("_overrides"), *place)
            raise problem(self.document, where, f"{name}: {'.'.join(map(str, place))}: {message}")


def _content(value: Any) -> Any:
    """The same data with every input file replaced by the hash of its content."""
    if isinstance(value, dict):
        return {key: [_file_hash(path) for path in files_of(entry) or [entry]] if is_file(key, entry)
                else _content(entry) for key, entry in value.items()}
    return [_content(entry) for entry in value] if isinstance(value, list) else value


def _file_hash(path: str | Path) -> str:
    try:
        with open(path, "rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
