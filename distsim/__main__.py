"""``python -m distsim`` is the command `distsim`."""

from distsim.cli import main

if __name__ == "__main__":
    main()
