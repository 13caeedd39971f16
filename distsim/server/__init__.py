"""The HTTP API and the page over a directory of runs: `distsim serve`. See README.md."""
