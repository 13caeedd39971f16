"""Chakra execution traces: reading, writing and describing them. Import the modules; this one imports nothing."""
