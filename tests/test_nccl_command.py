"""The command line of nccl-tests: what each option means, and what is refused."""

from __future__ import annotations

import pytest

from distsim.workload.nccl_tests.command import EVERY_ROOT, PROGRAMS, parse


def test_defaults_are_those_of_the_program():
    command = parse("all_reduce_perf")
    assert (command.min_bytes, command.max_bytes) == (33554432, 33554432)
    assert (command.step_bytes, command.factor, command.root, command.average) == (1048576, 1, 0, 1)
    assert (command.iterations, command.aggregated, command.warm_up, command.cycles) == (20, 1, 1, 1)
    assert (command.check, command.operator, command.datatype) == (1, "sum", "float")
    assert (command.threads, command.gpus, command.blocking, command.graph, command.notes) == (1, 1, 0, 0, ())


def test_the_line_of_the_issue():
    command = parse("all_reduce_perf -b 8 -e 32G -f 2 -n 20 -w 5 -N 2")
    assert (command.min_bytes, command.max_bytes, command.factor) == (8, 32 * 2**30, 2)
    assert (command.warm_up, command.cycles, command.name) == (5, 2, "all_reduce_perf")


@pytest.mark.parametrize("spelling", ["-b 64K", "-b64K", "--minbytes 64K", "--minbytes=64K", "--minb 64k", "-b 65536",
                                      "-b '64 K'", "-b 64KiB", "-b 0.0625M"])
def test_spellings_of_an_option(spelling):
    assert parse(f"all_gather_perf -e 1G {spelling}").min_bytes == 65536


def test_numbers_are_read_as_strtol_does():
    command = parse("reduce_perf -n 0x10 -w 010 -r -1")
    assert (command.iterations, command.warm_up, command.root) == (16, 8, EVERY_ROOT)
    assert parse("reduce_perf -r all -d all -o all").root == EVERY_ROOT


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_with_path_and_suffix(program):
    command = parse(f"./build/{program}_perf_mpi -g 8")
    assert (command.program, command.name, command.gpus) == (program, f"{program}_perf_mpi", 8)


def test_operations_are_iterations_aggregated_and_graph_launches():
    assert parse("all_reduce_perf -n 5 -m 3").operations == 15
    assert parse("all_reduce_perf -n 5 -m 3 -G 4").operations == 60


@pytest.mark.parametrize(("words", "note"), [
    ("-T 5", "-T 5 (timeout) has no meaning here: a run ends with RunTime"),
    ("-R 1", "-R 1 (local_register) has no meaning here: memory is not registered"),
    ("-u 3", "-u 3 (unalign) has no meaning here: buffers have no alignment")])
def test_what_has_no_meaning_is_said(words, note):
    assert parse(f"all_reduce_perf {words}").notes == (note,)


def test_what_is_off_is_not_said():
    assert parse("all_reduce_perf -T 0 -R 0 -y 0 -M 0 -D 0 -u 0").notes == ()


@pytest.mark.parametrize(("line", "words"), [
    ("", "is empty; begin with one of all_reduce_perf"),
    ("mpirun -np 8 all_reduce_perf", "without mpirun"),
    ("all_reduce -b 8", "'all_reduce' is no program"),
    ("all_reduce_perf -Q 3", "unknown option '-Q'; valid: -t, -g, -b"),
    ("all_reduce_perf --size 3", "unknown option '--size'"),
    ("all_reduce_perf --step 3", "unknown option '--step'"),            # stepbytes or stepfactor
    ("all_reduce_perf 8", "'8' belongs to no option"),
    ("all_reduce_perf -n", "-n (iters) lacks its value"),
    ("all_reduce_perf -n 0", "'0' is not a whole number from 1"),
    ("all_reduce_perf -n ten", "'ten' is not a whole number from 1"),
    ("all_reduce_perf -w 09", "'09' is not a whole number"),
    ("all_reduce_perf -b 8T", "'8T' is not a number of bytes"),
    ("all_reduce_perf -b -8", "'-8' is not a number of bytes"),
    ("all_reduce_perf -e 2048G", "'2048G' is not at most 1024G"),
    ("all_reduce_perf -d fp16", "'fp16' is not one of int8, uint8"),
    ("all_reduce_perf -o mean", "'mean' is not one of sum, prod, max, min, avg, mulsum, all"),
    ("all_reduce_perf -a 4", "'4' is not a whole number from 0 to 3"),
    ("broadcast_perf -r first", "'first' is not the number of a rank, or all (-1)"),
    ("all_reduce_perf -b 2G -e 1G", "-b 2147483648 (minbytes) is more than -e 1073741824 (maxbytes)"),
    ("all_reduce_perf -I 1 -G 1", "-I 1 (per_iter_timing) cannot be had with -G"),
    ("all_reduce_perf -N 0", "-N 0 (run_cycles) would run for ever"),
    ("all_reduce_perf -b 8 -e 16 -i 0", "would never reach -e"),
    ("all_reduce_perf -b 8 -e 1G -i 8", "-i 8 (stepbytes) makes more than 1,000,000 sizes"),
    ("all_reduce_perf -b 0 -e 16 -f 2", "would never reach -e"),
    ("all_reduce_perf 'b", "cannot be split into words")])
def test_refused(line, words):
    with pytest.raises(ValueError, match=r".") as caught:
        parse(line)
    assert words in str(caught.value)
