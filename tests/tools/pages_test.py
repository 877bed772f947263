# SPDX-License-Identifier: Apache-2.0
"""The pages: what they link to is there, the headers and ./dev commands they name exist, every folder of code is described."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def tracked(*patterns):
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", *patterns], check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in tracked("*.md"):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                if "://" not in target:
                    with self.subTest(page=page.name, target=target):
                        self.assertTrue((page.parent / target).exists())

    def test_headers_named_by_the_readme_exist(self):
        named = re.findall(r"`millrace/([a-z0-9_/]+)\.h`((?:, `[a-z0-9_]+\.h`)*)", (ROOT / "README.md").read_text(encoding="utf-8"))
        self.assertGreater(len(named), 5)
        for first, others in named:
            folder = first.rsplit("/", 1)[0]
            for header in [first] + [f"{folder}/{other}" for other in re.findall(r"`([a-z0-9_]+)\.h`", others)]:
                with self.subTest(header):
                    self.assertTrue((ROOT / "include" / "millrace" / f"{header}.h").is_file())

    def test_dev_commands_named_by_pages_exist(self):
        known = subprocess.run([ROOT / "dev"], check=True, capture_output=True, text=True).stdout
        known = set(re.findall(r"^  \./dev ([a-z]+)", known, re.MULTILINE))
        self.assertIn("demo", known)
        for page in tracked("*.md"):
            for command in re.findall(r"(?:`|^ {4}|\$ )\./dev ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
                with self.subTest(page=page.name, command=command):
                    self.assertIn(command, known)

    def test_every_folder_of_code_has_a_page_or_a_line_on_the_page_above(self):
        for folder in {path.parent for path in tracked("src/*/CMakeLists.txt", "connectors/*/CMakeLists.txt", "formats/*/CMakeLists.txt")}:
            above = folder.parent / "README.md"
            named_above = above.is_file() and f"`{folder.name}/`" in above.read_text(encoding="utf-8")
            with self.subTest(folder.relative_to(ROOT)):
                self.assertTrue((folder / "README.md").is_file() or named_above)


if __name__ == "__main__":
    unittest.main()
