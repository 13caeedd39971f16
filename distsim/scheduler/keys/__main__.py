"""`python -m distsim.scheduler.keys`: write keys.md."""

from distsim.scheduler.keys.page import write_page

if __name__ == "__main__":
    print(write_page())
