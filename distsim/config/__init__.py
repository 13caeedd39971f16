"""Configuration: reading, checking, defaults. Imports neither numba nor MPI."""

from .config import Config
from .document import from_dict, load
from .nic import Nic
from .parameters import SimulationParameters
from .problems import ConfigError
from .rules import queue_limit_bytes
from .schema import json_schema
from .switch import Switch

__all__ = [
    "Config",
    "ConfigError",
    "Nic",
    "SimulationParameters",
    "Switch",
    "from_dict",
    "json_schema",
    "load",
    "queue_limit_bytes",
]
