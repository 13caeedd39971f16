#!/usr/bin/env bash
# PBS Professional, OpenPBS: qsub -v CONFIG=configs/perm1024.yaml,OPTIONS="--seed 7" launch/pbs.sh
# Options of qsub win over the lines below: qsub -l select=4:ncpus=32:mpiprocs=32 ...
#PBS -N distsim
#PBS -l select=2:ncpus=16:mpiprocs=16:mem=32gb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
#
#   CONFIG          the configuration, relative to where qsub was called
#   OPTIONS         further options of `distsim run`
#   DISTSIM_ROOT    the project on a file system that all nodes see (default: where qsub was called)
#   DISTSIM_OUTPUT  directory for the records, on such a file system too (default: $DISTSIM_ROOT/runs/<config>-<job id>)
#
# Once, before the first job: DISTSIM_MPI=system ./launch/quickstart, so that ranks use the cluster's MPI and network.
set -euo pipefail
CONFIG=${CONFIG:?name a configuration: qsub -v CONFIG=configs/perm1024.yaml launch/pbs.sh}
ROOT=${DISTSIM_ROOT:-$PBS_O_WORKDIR}
OUTPUT=${DISTSIM_OUTPUT:-$ROOT/runs/$(basename "$CONFIG" .yaml)-${PBS_JOBID%%.*}}
RANKS=$(wc -l <"$PBS_NODEFILE") # one line for each of the mpiprocs
cd "$PBS_O_WORKDIR"
export OMP_NUM_THREADS=1 # a rank is one thread
# The kernel cache must be seen by all ranks: the first one compiles, the others load.
export DISTSIM_CACHE_DIR=${DISTSIM_CACHE_DIR:-$ROOT/runs/.cache}
mkdir -p "$(dirname "$OUTPUT")"

# mpirun of the cluster's MPI (launch/quickstart left a wrapper for it) knows the job's nodes from PBS or from the file.
# Open MPI hands only its own variables on to other nodes; -x adds ours, -genvlist does so with MPICH's mpirun.
if "$ROOT/.venv/bin/mpirun" --version 2>&1 | grep -q "Open MPI"; then
    PASS=(-x DISTSIM_CACHE_DIR -x OMP_NUM_THREADS)
else
    PASS=(-genvlist DISTSIM_CACHE_DIR,OMP_NUM_THREADS)
fi
# shellcheck disable=SC2086  # several options in one variable
exec "$ROOT/.venv/bin/mpirun" -n "$RANKS" -hostfile "$PBS_NODEFILE" "${PASS[@]}" \
    "$ROOT/.venv/bin/distsim" run "$CONFIG" -o "$OUTPUT" ${OPTIONS:-}
