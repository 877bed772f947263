# SPDX-License-Identifier: Apache-2.0
"""Habits of the C++ sources that an #include line or a word gives away."""
import re

from tree import Finding, includes, line_of, without_comments

CATCH = re.compile(r"\bcatch\s*\(")
THREADS = re.compile(
    r"\bstd::(?:thread|jthread|(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex|atomic(?:_\w+)?|condition_variable(?:_any)?|"
    r"lock_guard|unique_lock|scoped_lock|shared_lock|counting_semaphore|binary_semaphore|latch|barrier|once_flag|call_once|async|promise|"
    r"future|packaged_task|this_thread)\b|\bpthread_\w+"
)
THREAD_HEADERS = {
    "atomic", "mutex", "shared_mutex", "thread", "condition_variable", "semaphore", "latch", "barrier", "future", "stop_token", "pthread.h",
}
GLOBAL_TIME = re.compile(
    r"\b(?:system|steady|high_resolution)_clock::now\b|\bstd::random_device\b|\bstd::rand\b|\bsrand\s*\(|\bsleep_(?:for|until)\b|"
    r"\b(?:u|nano)?sleep\s*\(|\b(?:gettimeofday|clock_gettime|time)\s*\(\s*(?:NULL|nullptr|0|CLOCK_)"
)

SHOW, SHOW_END = "#pragma GCC visibility push(default)", "#pragma GCC visibility pop"

SYNC_HOMES = ("include/millrace/base/sync.h", "src/base/sync")
TIME_HOMES = ("include/millrace/base/", "src/base/", "bench/", "cli/", "tests/")


def check(tree):
    findings = []
    paths = set(tree.texts)
    for path, text in tree.cpp().items():
        bare = without_comments(text)
        test = path.endswith("_test.cc") or path.startswith("tests/")
        if not test and not path.endswith(("_adapter.cc", "_adapter.h")):
            findings += matches(path, bare, CATCH, "catch", "exceptions of foreign code end in a *_adapter.cc around it; catch nowhere else")
        if not path.startswith(SYNC_HOMES):
            findings += matches(path, bare, THREADS, "threads", "locks, atomics and threads come from millrace/base/sync.h")
            for line, included, _ in includes(text):
                if included in THREAD_HEADERS:
                    findings.append(Finding(path, line, "threads", f"<{included}>: locks, atomics and threads come from millrace/base/sync.h"))
        if not path.startswith(TIME_HOMES):
            findings += matches(path, bare, GLOBAL_TIME, "time", "time and chance are passed in (millrace/base/time.h: Clock, Random)")
        findings += own_header_first(path, text, paths)
        findings += shown_by_shared_libraries(path, text)
        if path.endswith(".h") and "#pragma once" not in bare:
            findings.append(Finding(path, 1, "headers", "begin with #pragma once"))
    return findings


def matches(path, bare, pattern, rule, text):
    return [Finding(path, line_of(bare, m.start()), rule, f"{m.group().strip()}: {text}") for m in pattern.finditer(bare)]


def shown_by_shared_libraries(path, text):
    """What a public header declares stands between the two pragmas that let a shared library show it (ADR-0026)."""
    lines = text.splitlines()
    begins = [n for n, line in enumerate(lines) if line.startswith("namespace ")]
    if not path.startswith("include/millrace/") or not begins:
        return []
    ends = [n for n, line in enumerate(lines) if line.startswith("}  // namespace")] or [len(lines) - 1]
    pragmas = [(n, line) for n, line in enumerate(lines) if line.startswith("#pragma GCC visibility")]
    inside = any(line.startswith("#include") for line in lines[begins[0] : ends[-1]])
    if pragmas == [(begins[0] - 1, SHOW), (ends[-1] + 1, SHOW_END)] and not inside:
        return []
    text = f"between '{SHOW}', on the line before the first namespace, and '{SHOW_END}', behind the last, and without an #include between"
    return [Finding(path, begins[0] + 1, "visibility", f"a public header declares {text}")]


def own_header_first(path, text, paths):
    """x.cc begins with its own x.h, so that a header which leans on others does not compile."""
    if not path.endswith(".cc"):
        return []
    stem = path[: -len(".cc")]
    own = {}
    if stem + ".h" in paths:
        own[stem + ".h"] = stem.removeprefix("src/") + ".h"
    if path.startswith("src/") and f"include/millrace/{stem.removeprefix('src/')}.h" in paths:
        own[f"include/millrace/{stem.removeprefix('src/')}.h"] = f"millrace/{stem.removeprefix('src/')}.h"
    if not own:
        return []
    found = includes(text)
    if found and found[0][1] in own.values():
        return []
    return [Finding(path, found[0][0] if found else 1, "headers", f'the first #include is its own header: "{next(iter(own.values()))}"')]
