# SPDX-License-Identifier: Apache-2.0
"""Names, lengths and the licence line of files."""
import re

from tree import Finding

CODE = (".h", ".cc", ".py", ".sh", ".cmake")
SNAKE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "stuff"}
WARN_LINES, MAX_LINES = 400, 600


def check(tree):
    findings = []
    for path, text in tree.texts.items():
        name = path.rsplit("/", 1)[-1]
        code = path.endswith(CODE)
        if code:
            folders = [part for part in path.split("/")[:-1] if not part.startswith(".")]
            stem = name.rsplit(".", 1)[0]
            findings += names(path, folders, stem, path.endswith(".cmake"))
        if code or name == "CMakeLists.txt" or text.startswith("#!"):
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in text.splitlines()[:2]):
                findings.append(Finding(path, 1, "licence", "the first or second line is: SPDX-License-Identifier: Apache-2.0"))
        if path.endswith((".h", ".cc", ".py")):
            lines = text.count("\n")
            if lines > MAX_LINES:
                findings.append(Finding(path, lines, "length", f"{lines} lines; {MAX_LINES} is the limit: is it still one noun?"))
            elif lines > WARN_LINES:
                findings.append(Finding(path, lines, "length", f"{lines} lines; above {WARN_LINES} think of splitting it", warning=True))
    return findings


def names(path, folders, stem, cmake):
    findings = []
    for part in folders + ([] if cmake else [stem]):
        if not SNAKE.fullmatch(part):
            findings.append(Finding(path, 1, "names", f"'{part}' is not snake_case"))
    for part in folders + [stem]:
        empty = EMPTY_WORDS.intersection(re.split(r"[_.-]", part.lower()))
        if empty:
            findings.append(Finding(path, 1, "names", f"'{empty.pop()}' says nothing; name what these have in common"))
    return findings
