# SPDX-License-Identifier: Apache-2.0
"""What every check works on: the files of the tree, and a finding about one of them."""
import dataclasses
import pathlib
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    text: str
    warning: bool = False

    def __str__(self):
        kind = "warning" if self.warning else "error"
        return f"{self.path}:{self.line}: {kind}: [{self.rule}] {self.text}"


class Tree:
    """Path (with slashes, from the root) to text. Files that are not UTF-8 are data and left out."""

    def __init__(self, texts):
        self.texts = texts

    @staticmethod
    def of_git(root):
        names = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True
        ).stdout.decode()
        texts = {}
        for name in sorted(set(names.split("\0")) - {""}):
            path = pathlib.Path(root, name)
            if path.is_symlink() or not path.is_file():
                continue
            try:
                texts[name] = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                pass
        return Tree(texts)

    def cpp(self):
        return {p: t for p, t in self.texts.items() if p.endswith((".h", ".cc"))}


def without_comments(text):
    """C++ with comments and the inside of string and character literals blanked, lines kept."""

    def blank(match):
        found = match.group()
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        quote = found.find('"') if '"' in found else found.find("'")
        return found[: quote + 1] + re.sub(r"[^\n]", " ", found[quote + 1 : -1]) + found[-1]

    pattern = r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\''
    return re.sub(pattern, blank, text, flags=re.DOTALL)


INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(text):
    """(line, path, in angle brackets) of each #include that is not commented out."""
    bare = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL)
    return [(bare.count("\n", 0, m.start(1)) + 1, m.group(2), m.group(1) == "<") for m in INCLUDE.finditer(bare)]


def line_of(text, index):
    return text.count("\n", 0, index) + 1
