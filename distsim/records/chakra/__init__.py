"""The records of a workload of ranks (Chakra): `write.write_chakra_records(run.ChakraRun(...))`. See README.md."""
