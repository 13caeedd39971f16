"""Configuration: reading, checking, defaults. Imports neither numba nor MPI."""

from .advice import config_warnings
from .config import Config
from .document import from_dict, load
from .nic import Nic
from .parameters import SimulationParameters
from .problems import ConfigError
from .rules_switch import queue_limit_bytes, switch_fabric_rules
from .schema import json_schema
from .switch import Switch

__all__ = [
    "Config",
    "ConfigError",
    "Nic",
    "SimulationParameters",
    "Switch",
    "config_warnings",
    "from_dict",
    "json_schema",
    "load",
    "queue_limit_bytes",
    "switch_fabric_rules",
]
