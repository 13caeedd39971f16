"""Labels and annotations of a job: one table (`KEYS`), and `parse_settings`. `python -m distsim.scheduler.keys` writes
keys.md from the table."""

from distsim.scheduler.keys.policies import POLICIES
from distsim.scheduler.keys.settings import parse_settings
from distsim.scheduler.keys.table import ANNOTATION, KEYS, LABEL, Key, keys_of

__all__ = ["ANNOTATION", "KEYS", "LABEL", "POLICIES", "Key", "keys_of", "parse_settings"]
