"""Imports point downwards only (distsim/README.md), and heavy libraries stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "distsim"
# What each package may import of distsim; a module at the top is named by its file.
ALLOWED = {
    "state": {"state", "fabric.types", "workload.types", "errors"},
    "kernels": {"kernels", "state"},
    "fabric": {"fabric", "errors", "quantities", "textfile"},
    "workload": {"workload", "fabric.types", "errors", "quantities", "textfile"},
    "config": {"config", "fabric", "workload", "measure.section", "errors", "quantities", "textfile"},
    "records": {"records", "state", "fabric.address", "workload.types", "workload.graph", "errors"},
    "measure": {"measure", "config.yaml_reader", "config.problems", "errors", "quantities"},
    "cluster": {"cluster", "config", "fabric", "workload", "errors", "quantities"},
    "scheduler": {"scheduler", "cluster", "config", "fabric", "errors", "quantities"},
    "clusterrun": {"clusterrun", "scheduler", "workloadrun", "engine", "limits", "records.files", "cluster", "config",
                   "fabric", "workload", "errors", "quantities"},
    "results": {"results", "results_summary", "records", "measure", "errors", "quantities"},
    "server": {"server", "results", "records", "assemble", "config", "fabric", "workload.types", "measure.section",
               "errors", "quantities", "__version__"},
    "parallel": {"parallel", "kernels", "state", "fabric.types", "errors"},
}
OUTSIDE = {"numba": {"kernels"}, "llvmlite": {"kernels"}, "mpi4py": {"parallel"}, "click": {"cli"},
           "polars": {"records", "results", "server", "api.py"}, "msgpack": {"parallel"}, "re2": {"measure"},
           "celpy": {"measure", "workloadrun"}, "jsonpatch": {"workloadrun"},
           "prometheus_client": {"measure", "server"},
           "fastapi": {"server"}, "starlette": {"server"}, "uvicorn": {"server"}, "zstandard": {"server"},
           "google": {"workload"}, "matplotlib": {"results"}}


def imports(path: Path) -> set[str]:
    """Absolute names of all that a file imports, in functions too; those under `if TYPE_CHECKING` left out."""
    tree = ast.parse(path.read_text())
    inside = ["distsim", *path.relative_to(PACKAGE).parent.parts]
    found: set[str] = set()
    typing_only = [node for node in ast.walk(tree)
                   if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    hidden = {id(child) for node in typing_only for child in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = inside[:len(inside) - node.level + 1] if node.level else []
            module = ".".join([*home, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_is_below_it(package):
    wrong = []
    for path in (PACKAGE / package).rglob("*.py"):
        for name in imports(path):
            if name.startswith("distsim.") and not any(
                    name.removeprefix("distsim.").startswith(allowed) for allowed in ALLOWED[package]):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_libraries_are_imported_only_where_they_belong():
    wrong = []
    for path in sources():
        home = path.relative_to(PACKAGE).parts[0]
        for name in imports(path):
            library = name.split(".")[0]
            if library in OUTSIDE and home not in OUTSIDE[library]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {library}")
    assert wrong == []


def test_every_folder_says_what_it_is_for():
    for folder in {path.parent for path in sources()}:
        if folder.name not in ("cc", "spray"):
            assert (folder / "README.md").exists(), folder


def test_a_warm_run_never_imports_numba(tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text("simulation: tiny\nfabric: {kind: leaf-spine, racks: 1, nics_per_rack: 2, spines: 1}\n"
                      "workload: {kind: permutation, size: 1KB}\n")
    program = (f"import sys; from distsim.config import load; from distsim.engine import run_config\n"
               f"r = run_config(load({str(config)!r}), {str(tmp_path / 'out')!r}, quiet=True, overwrite=True)\n"
               f"print(r.exit_code, 'numba' in sys.modules)")
    answers = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
               for _ in range(2)]
    from distsim.kernels.mode import BOUNDSCHECK, COMPILED

    assert answers[1].split() == ["0", "False"] or not COMPILED or BOUNDSCHECK
