"""What jobs that are no nccl-tests do on the network: the map `workloads` of a cluster file.

Its keys are job names, images or commands, exactly or as globs; each entry is one of

    {chakra: PREFIX, ...}           traces PREFIX.<rank>.et, with other keys of the kind chakra beside it
    {collective: {...}}             keys of the kind collective
    {training: {...}}               keys of the kind training
    {nccl_tests: "COMMAND", ...}    a command line of nccl-tests, with other keys of the kind nccl-tests beside it
    {kind: KIND, ...}               a section `workload` as a configuration has it, of a kind that ranks replay

with, beside any of them, `job: {steps: 1000, ...}`: how often a job does it (job_steps.py), for `distsim schedule run`.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from distsim.cluster.job_steps import KEY, JobSteps
from distsim.config.names import nearest
from distsim.config.overrides import FILE_KEYS, files_of
from distsim.config.problems import ConfigError, problem, problems_of, shown
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.workload.scale_up import ScaleUpSpec

FORMS = {"chakra": ("chakra", "file"), "nccl_tests": ("nccl-tests", "command"), "collective": ("collective", ""),
         "training": ("training", "")}          # key -> kind, and the field that a text stands for
KINDS = ("chakra", "collective", "goal", "nccl-tests", "simai", "training")
# Keys that a job's placement sets, or that would replace what the entry says.
_OF_THE_JOB = ("hosts", "name")
_READ_A_FILE = ("chakra", "goal", "simai")
_EXAMPLE = "{training: {compute: 20ms, gradients: 1GB}}"
_GLOB = frozenset("*?[")
Sections = dict[str, dict[str, Any]]


def check_workloads(document: Document, place: Place = ("workloads",), folder: Path | None = None) -> Sections:
    """The map at a place of a cluster file as sections `workload` of a configuration, key by key in the file's order.

    folder : where relative paths start; by default the folder of the document's file. Paths come out absolute.
    ConfigError (an InputError) with every problem found: file, line, path, bad value and valid values.
    """
    given = document.at(place)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ConfigError([problem(document, place, f"{shown(given)} is not a map of workloads; write e.g. "
                                                    f"my-job: {_EXAMPLE}")])
    if folder is None:
        folder = Path(document.file).absolute().parent if document.file else Path.cwd()
    found: Sections = {}
    problems: list[InputError] = []
    for key, entry in given.items():
        try:
            found[key] = _section(document, (*place, key), entry, folder)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return found


def workload_for(job_name: str, image: str, command: str | Sequence[str], workloads: Mapping[str, dict[str, Any]], *,
                 run: str = "") -> dict[str, Any]:
    """The section of a job: a copy of its entry, without what stands there of the job itself (`steps_for`).

    A key is compared with, in this order: the job's name, the name of its WorkloadRun (`run`), the image, the command
    line (words joined by single spaces, or as a shell has it), its first word, and the base name of that. First all are
    tried exactly, then all as globs (`*`, `?`, `[...]`, case matters), for each the keys in file order. InputError
    when none fits.
    """
    entry = _entry_for(job_name, image, command, workloads, run)
    if entry is not None:
        return {name: value for name, value in entry.items() if name != KEY}
    words = command.split() if isinstance(command, str) else list(command)
    valid = f"its keys: {', '.join(workloads)}" if workloads else "it is empty"
    raise InputError(f"job {job_name!r} (image {image!r}, command {' '.join(words)!r}) is no nccl-tests and maps to no "
                     f"workload; add an entry by job name, image or command, e.g. {job_name}: {_EXAMPLE}; {valid}",
                     where="workloads")


def steps_for(job_name: str, image: str, command: str | Sequence[str], workloads: Mapping[str, dict[str, Any]], *,
              run: str = "") -> JobSteps:
    """How often a job does its workload: the key `job` of the entry that `workload_for` takes; all defaults without."""
    entry = _entry_for(job_name, image, command, workloads, run)
    return JobSteps.model_validate((entry or {}).get(KEY) or {})


def _entry_for(job_name: str, image: str, command: str | Sequence[str], workloads: Mapping[str, dict[str, Any]],
               run: str) -> dict[str, Any] | None:
    """The entry of a job, see `workload_for`; None if there is none."""
    words = command.split() if isinstance(command, str) else list(command)
    program = words[0] if words else ""
    named = (job_name, run, image, " ".join(words), shlex.join(words), program, program.rpartition("/")[2])
    subjects = [text for text in named if text]
    for subject in subjects:
        if subject in workloads:
            return workloads[subject]
    globs = [key for key in workloads if _GLOB & set(key)]
    for subject in subjects:
        for key in globs:
            if fnmatch.fnmatchcase(subject, key):
                return workloads[key]
    return None


def placed_on(section: Mapping[str, Any], name: str, hosts: Sequence[int], directory: Path, *,
              scale_up: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A section as a part of `several`: with the job's name, on its hosts (NIC numbers, rank 0 first).

    scale_up : keys of a section scale_up, for entries that have none. Chakra traces take hosts and scale-up
    groups from a mapping file, which is written as ``{directory}/{name}-mapping.txt``. InputError if it cannot be
    written, or if the job has fewer NICs than the traces have ranks.
    """
    if section["kind"] == "chakra":
        return {**section, "name": name, "mapping": _mapping(section, name, hosts, directory, scale_up)}
    more = {"scale_up": dict(scale_up)} if scale_up is not None and "scale_up" not in section else {}
    return {**section, **more, "name": name, "hosts": [int(host) for host in hosts]}


def _mapping(section: Mapping[str, Any], name: str, hosts: Sequence[int], directory: Path,
             scale_up: Mapping[str, Any] | None) -> str:
    """Write the mapping file of a job of Chakra traces (workload/lower/mapping.py); its path."""
    ranks = section.get("ranks") or sum(path.suffix == ".et" for path in files_of(section["file"]))
    if ranks > len(hosts):
        raise InputError(f"the traces {section['file']} have {ranks} ranks, job {name!r} has {len(hosts)} NICs",
                         where="workloads")
    placed = [f"{rank},{host}" for rank, host in enumerate(list(hosts)[:ranks])]
    if scale_up is not None:
        spec = ScaleUpSpec.model_validate(dict(scale_up))
        servers = [rank // spec.gpus_per_server for rank in range(ranks)]
        placed = [f"{line},{server},0" for line, server in zip(placed, servers, strict=True)]
        figures = [Decimal(spec.bandwidth) / 10**9, Decimal(spec.switch_latency) / 1000,
                   Decimal(spec.cable_latency) / 1000]
        placed += ["@ server, Gbps, ns a switch hop, ns a cable"]
        placed += [",".join(map(str, (server, *figures))) for server in dict.fromkeys(servers)]
    path = Path(directory) / f"{name}-mapping.txt"
    try:
        path.write_text("\n".join(["# rank, NIC, server, subgroup", *placed, ""]))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None
    return str(path)


def _section(document: Document, place: Place, entry: Any, folder: Path) -> dict[str, Any]:
    """The section of one entry."""
    if not isinstance(entry, dict) or not entry:
        raise _wrong(document, place, f"{shown(entry)} is not a workload; {_valid()}, e.g. {_EXAMPLE}")
    if KEY in entry:
        job = _job(document, (*place, KEY), entry[KEY])
        rest = {name: value for name, value in entry.items() if name != KEY}
        if not rest:
            raise _wrong(document, place, f"{KEY} stands alone, without a workload; {_valid()}, e.g. {_EXAMPLE}")
        return {**_section(document, place, rest, folder), KEY: job}
    forms = [key for key in entry if key in FORMS]
    if "kind" in entry:
        section, inside = dict(entry), place
        if section["kind"] not in KINDS:
            raise _wrong(document, (*place, "kind"), f"kind {shown(section['kind'])} is not valid; valid values: "
                                                     f"{', '.join(KINDS)}")
    elif len(forms) != 1:
        key = next(iter(entry))
        close = nearest(str(key), list(FORMS))
        raise _wrong(document, place if forms else (*place, key),
                     f"{' and '.join(forms)} stand together; give one of them" if forms else
                     f"unknown key {key!r}; {f'nearest valid name: {close}; ' if close else ''}{_valid()}")
    else:
        section, inside = _of_form(document, place, entry, forms[0])
    of_kind = ("mapping",) if section["kind"] == "chakra" else () if section["kind"] in _READ_A_FILE else ("file",)
    for key in (*_OF_THE_JOB, *of_kind):
        if key in section:
            why = "a job's placement sets it" if key != "file" else "it would replace the workload"
            raise _wrong(document, (*inside, key), f"{key} may not stand here; {why}")
    return _checked(document, inside, section, folder)


def _job(document: Document, place: Place, given: Any) -> dict[str, Any]:
    """What an entry says of the job itself, as it stands, once it is checked."""
    if not isinstance(given, dict):
        raise _wrong(document, place, f"{shown(given)} is not a section of keys; write e.g. {{steps: 1000}}")
    try:
        JobSteps.model_validate(given)
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, place, (JobSteps,))) from None
    return dict(given)


def _of_form(document: Document, place: Place, entry: dict[str, Any], form: str) -> tuple[dict[str, Any], Place]:
    """(section, place of its keys) of an entry that names its kind by its key."""
    kind, text_field = FORMS[form]
    value, beside = entry[form], {key: value for key, value in entry.items() if key != form}
    if text_field:
        if not isinstance(value, str) or not value.strip():
            raise _wrong(document, (*place, form), f"{shown(value)} is not text; {_SAID[form]}")
        if text_field in beside:
            raise _wrong(document, (*place, text_field), f"{text_field} stands beside {form}, which says the same")
        return {"kind": kind, text_field: value, **beside}, place
    if beside:
        key = next(iter(beside))
        raise _wrong(document, (*place, key), f"unknown key {key!r} beside {form}; write it inside {form}")
    if not isinstance(value, dict):
        raise _wrong(document, (*place, form), f"{shown(value)} is not a section of keys of the kind {kind}")
    if "kind" in value:
        raise _wrong(document, (*place, form, "kind"), f"kind may not stand here; {form} says it")
    return {"kind": kind, **value}, (*place, form)


_SAID = {"chakra": "write the prefix of the trace files, <prefix>.<rank>.et",
         "nccl_tests": "write a command line such as all_reduce_perf -b 1M -e 1M"}


def _checked(document: Document, place: Place, section: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The section with absolute paths, if its kind takes it and its files are there."""
    from distsim.workload.registry import PARTS

    model = PARTS[section["kind"]].Spec
    try:
        model.model_validate(section)
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, place, (model,))) from None
    for key in FILE_KEYS:
        if isinstance(section.get(key), str):
            path = str((folder / section[key]).absolute())
            if not files_of(path):
                prefix = f", nor {Path(path).name}.0.et" if (section["kind"], key) == ("chakra", "file") else ""
                named = place if key in (document.at(place) or {}) else (*place, "chakra")
                at = (*place, key) if named == place else named
                raise _wrong(document, at, f"{path}: {'not a file' if Path(path).exists() else 'no such file'}{prefix}")
            section[key] = path
    return section


def _wrong(document: Document, place: Place, message: str) -> ConfigError:
    return ConfigError([problem(document, place, message)])


def _valid() -> str:
    return f"valid: one of {', '.join(FORMS)}, or a section with kind ({', '.join(KINDS)})"
