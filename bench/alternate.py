# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: two ways of doing the same work in turns, and the ratio of what they take.

CPU time is of the whole process, user and system, all threads, as the kernel counts it when the process ends.
"""
import os
import statistics
import subprocess
import sys
import time

MI = 1 << 20
FORM = "{:<26}{:<5}{:>16}{:>16}{:>20}{:>7} {}"


class Cost:
    """What one process took: seconds of CPU and of the clock, bytes of memory at most."""

    def __init__(self, cpu, wall, peak):
        self.cpu, self.wall, self.peak = cpu, wall, peak


def cost_of(command, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
    """Runs a command to its end, which has to be a good one."""
    begun = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=env)
    said = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode}: {said[-800:]}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - begun, usage.ru_maxrss << 10)


def in_turns(rounds, baseline, ours):
    """Both sides so many times, the first one changing; the costs of each."""
    theirs, own = [], []
    for number in range(rounds):
        for side in ((baseline, ours) if number % 2 == 0 else (ours, baseline)):
            (own if side is ours else theirs).append(side())
    return theirs, own


def spread(values, digits):
    return " / ".join(f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values)))


def heading():
    print(FORM.format("row", "by", "baseline MiB/s", "millrace MiB/s", "ratio min/med/max", "least", ""), flush=True)


def row(name, by, size, theirs, own, least):
    """Prints a row of `size` bytes, compared by `cpu` or `wall`. True when the median is what it should be at least."""
    theirs, own = [getattr(cost, by) for cost in theirs], [getattr(cost, by) for cost in own]
    ratios = [one / other for one, other in zip(theirs, own)]
    met = statistics.median(ratios) >= least
    rates = [f"{size / MI / statistics.median(costs):.0f}" for costs in (theirs, own)]
    print(FORM.format(name, by, *rates, spread(ratios, 2), f"{least:.2f}", "met" if met else "SHORT"), flush=True)
    return met


def write_lines(path, size):
    """NDJSON of about 200 bytes a line."""
    number = written = 0
    with open(path, "wb") as file:
        while written < size:
            line = b'{"id":"%016x","seq":%d,"event":"purchase","region":"eu-west-%d","user":{"id":%d,"tier":"free"},"amount":%d.25,"note":"%s"}\n' % (
                number * 0x9E3779B97F4A7C15 % (1 << 64), number, number % 3, number * 7919 % 100_003, number % 1000, b"order shipped retry basket stream " * (1 + number % 3))
            written += file.write(line)
            number += 1
    return written, number
