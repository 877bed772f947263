#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: a project of somebody else gets Millrace in each of the ways that docs/guide/library.md names, and no more of it than it asks for.

Method: this build is installed, and taken in by other builds, each in a folder that is made anew. The project is project/ with
examples/custom_source_sink.cc as its only source: a source, an operator and a sink of its own, whose output is known. Builds that take
Millrace in as source compile it with this build's own commands, in a folder beside it, so that ccache has what they ask for.

  consumer_check.py CASE --checkout FOLDER --build FOLDER --like FILE --libdir NAME
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# What core does not need; and what only its own static libraries need.
NOT_CORES = ["CURL", "OpenSSL", "aws-c-auth", "aws-checksums", "pugixml", "rdkafka", "Arrow", "Parquet", "GTest", "CLI11", "tomlplusplus", "rapidcheck"]
CORES = ["fmt", "spdlog", "yaml-cpp", "nlohmann_json", "simdjson", "prometheus-cpp", "zstd", "ZLIB", "isal", "xxhash", "httplib", "BZip2", "LibLZMA", "lz4", "re2"]


class Check:
    def __init__(self, arguments):
        self.checkout, self.build, self.like = arguments.checkout, arguments.build, arguments.like
        self.work = self.build / "tests/consumer/work"
        self.prefix, self.shared_prefix = self.work / "prefix", self.work / "shared_prefix"
        self.libdir = arguments.libdir
        self.work.mkdir(parents=True, exist_ok=True)

    def beside(self, name):
        """As deep as this build's folder: what ccache is asked for names files from there."""
        return self.build.with_name(f"{self.build.name}_{name}")

    def fresh(self, name):
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def run(self, *command, **more):
        """What it prints, stdout and stderr; it must exit 0."""
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
        expect(done.returncode == 0, f"exit {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def configure(self, source, folder, *options):
        return self.run("cmake", "-G", "Ninja", "-S", source, "-B", folder, "-C", self.like, *options)

    def project(self, case):
        """The project, complete."""
        folder = self.fresh(f"project_{case}")
        shutil.copy(HERE / "project/CMakeLists.txt", folder)
        shutil.copy(self.checkout / "examples/custom_source_sink.cc", folder / "main.cc")
        return folder

    def counts(self, program):
        """It does what the example does."""
        examples = self.checkout / "examples"
        self.run("cmake", f"-DPROGRAM={program}", f"-DEXPECTED={examples}/expected/custom_source_sink", "-DSORTED=SORTED", "-DARGS=",
                 f"-DFOLDER={program}.run", "-P", examples / "run_example.cmake")  # fmt: skip

    def found(self, prefix, name, hidden):
        """The project with an installation, on a machine that lacks `hidden`."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        self.configure(self.project(name), folder, f"-DCMAKE_PREFIX_PATH={prefix}", *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{one}=TRUE" for one in hidden))
        self.run("cmake", "--build", folder)
        self.counts(folder / "counter")

    # ---- cases

    def install(self):
        shutil.rmtree(self.prefix, ignore_errors=True)
        self.run("cmake", "--install", self.build, "--prefix", self.prefix)
        expect("millrace" in self.run(self.prefix / "bin/millrace", "--version"), "the installed program does not run")
        expect((self.prefix / "share/doc/millrace/LICENSE").is_file(), "the licence is not installed")
        for file in [*self.package().glob("*.cmake"), *self.modules().glob("*.pc")]:
            text = file.read_text(encoding="utf-8")
            expect(str(self.checkout) not in text and str(self.build) not in text, f"{file} names the folder that it was built in")

    def headers(self):
        """What is installed is what the lint compiles each alone; none includes one of a component that it does not need; none anything else."""
        homes = dict(line.split() for line in (self.build / "package/headers.txt").read_text(encoding="utf-8").splitlines())
        needs = json.loads((self.build / "package/needs.json").read_text(encoding="utf-8"))
        root = self.prefix / "include/millrace"
        installed = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        expect(installed == set(homes), f"installed are, other than listed: {installed ^ set(homes)}")
        for header, home in homes.items():
            text = (root / header).read_text(encoding="utf-8")
            expect(text == (self.checkout / "include/millrace" / header).read_text(encoding="utf-8"), f"{header} was changed on its way")
            for other in re.findall(r'^#include "millrace/(.*?)"', text, flags=re.MULTILINE):
                expect(homes.get(other) in needs[home], f"{header} of {home} includes {other} of {homes.get(other)}, which {home} does not need")
        source = self.fresh("headers") / "all.cc"
        source.write_text("".join(f"#include <millrace/{header}>\n" for header in sorted(homes)), encoding="ascii")
        self.run(self.compiler(), "-std=c++23", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", self.prefix / "include", source)

    def installed(self):
        self.found(self.prefix, "installed", NOT_CORES)

    def installed_shared(self):
        self.found(self.shared_prefix, "installed_shared", NOT_CORES + CORES)

    def pkg_config(self):
        folder = self.fresh("pkg_config")
        program = folder / "counter"
        flags = self.flags_of("millrace-core")
        expect("curl" not in flags and "rdkafka" not in flags, f"core asks for too much: {flags}")
        self.run(self.compiler(), "-std=c++23", self.checkout / "examples/custom_source_sink.cc", "-o", program, *flags.split())
        self.counts(program)

    def components(self):
        """One program for each, by find_package; the same objects linked by what pkg-config says."""
        names = sorted(path.stem.removeprefix("millrace_") for path in self.package().glob("millrace_*.cmake") if "-" not in path.name)
        expect({"base", "core", "store", "s3", "iggy_client", "iggy", "testing"} <= set(names), f"installed are only {names}")
        folder = self.work / "components"
        shutil.rmtree(folder, ignore_errors=True)
        self.configure(HERE / "links", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCOMPONENTS={';'.join(names)}")
        self.run("cmake", "--build", folder)
        for name in names:
            self.run(folder / f"links_{name}")
            program = folder / f"by_pkg_config_{name}"
            flags = self.flags_of("millrace-" + name.replace("_", "-")).split()
            self.run(self.compiler(), folder / f"CMakeFiles/links_{name}.dir/{name}.cc.o", "-o", program, *flags)
            self.run(program)

    def refusals(self):
        broken = self.fresh("without_kafka")
        shutil.copytree(self.package(), broken, dirs_exist_ok=True, ignore=shutil.ignore_patterns("millrace_kafka*"))
        printed = self.configure(HERE / "refusals", self.fresh("refusals"), f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DBROKEN_DIR={broken}")
        said = dict(re.findall(r"^(\w+): (.*)$", printed, flags=re.MULTILINE))
        for name, words in {
            "hidden": ["FALSE", "CURL::libcurl", "libcurl4-openssl-dev", "CMAKE_PREFIX_PATH"],
            "misspelt": ["FALSE", "no component 'kafak'", "kafka"],
            "left_out": ["FALSE", "'kafka'", "librdkafka-dev", "MILLRACE_COMPONENTS"],
        }.items():
            expect(all(word in said[name] for word in words), f"{name} lacks one of {words}: {said[name]}")
        expect(said["newer"].startswith("0: ") and said["major"].startswith("0: "), f"another minor version is taken: {printed}")
        expect(said["ours"].startswith(("1: ", "TRUE: ")), f"our own version is not taken: {printed}")
        expect(re.fullmatch("(1|TRUE): TRUE FALSE", said["optional"]), f"an optional component ends all: {said['optional']}")

    def defaults(self):
        folder = self.work / "defaults"
        shutil.rmtree(folder, ignore_errors=True)
        self.run("cmake", "-G", "Ninja", "-S", HERE / "defaults", "-B", folder, f"-DMILLRACE_CHECKOUT={self.checkout}")
        commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        expect(len(commands) > 100, "nothing was taken in")
        ours = [one for one in commands if one["file"] == str(HERE / "defaults/mine.cc")]
        expect(len(ours) == 1 and not re.search(r" -(W|fvisib|fno-omit|fsan)", ours[0]["command"]), f"our own file is compiled as Millrace's: {ours}")
        expect(f"{self.checkout}/src" not in ours[0]["command"], "what is internal is on our include path")
        for one in commands:
            name = str(pathlib.Path(one["file"]).relative_to(self.checkout))
            expect(not re.search(r" -(Werror|Wall|fsanitize|march)", one["command"]), f"Millrace's own warnings are forced on others: {one['command']}")
            theirs = name.endswith("_test.cc") or (name.startswith(("tests/", "bench/", "fuzz/", "cli/", "examples/")) and one not in ours)
            expect(not theirs, f"{name} is built for others")

    def fetched(self):
        self.taken_in("fetched", self.beside("fetched"))

    def subdirectory(self):
        """Shared libraries, which are installed too."""
        folder = self.beside("subdirectory")
        self.taken_in("subdirectory", folder, "-DBUILD_SHARED_LIBS=ON", "-DMILLRACE_INSTALL=ON")
        shutil.rmtree(self.shared_prefix, ignore_errors=True)
        self.run("cmake", "--install", folder, "--prefix", self.shared_prefix)

    def taken_in(self, how, folder, *options):
        shutil.rmtree(folder, ignore_errors=True)
        self.configure(self.project(how), folder, f"-DMILLRACE_FROM={how}", f"-DMILLRACE_CHECKOUT={self.checkout}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options,
                       *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{one}=TRUE" for one in NOT_CORES))  # fmt: skip
        self.run("cmake", "--build", folder)
        self.counts(folder / "counter")

    def symbols(self):
        """Exported is what belongs to millrace::, and of that what include/millrace/ declares."""
        libraries = sorted(path for path in (self.shared_prefix / self.libdir).glob("libmillrace_*.so") if path.is_file())
        expect([path.name for path in libraries] == ["libmillrace_base.so", "libmillrace_core.so"], f"shared libraries are {libraries}")
        names = []
        for library in libraries:
            names += self.run("nm", "-DC", "--defined-only", "--format=just-symbols", library).splitlines()
        special = r"(vtable|VTT|typeinfo|typeinfo name|guard variable|construction vtable|TLS \w+ function) for |(non-virtual|virtual|covariant return) thunk to "
        ours = re.compile(rf"({special})*([\w:<>,*& ]+ )?millrace::")
        foreign = [name for name in names if not ours.match(name)]
        expect(not foreign, "\n".join(["exported, and not of millrace:::", *foreign]))
        for shown in ("millrace::Pipeline::run(", "millrace::version()", "typeinfo for millrace::Source"):
            expect(any(name.startswith(shown) for name in names), f"{shown} is not exported")
        for hidden in ("millrace::Committer::", "millrace::SinkPool::", "millrace::InflightBudget::"):
            inner = [name for name in names if name.startswith(hidden)]
            expect(not inner, f"internal, and exported: {inner}")

    # ---- what cases share

    def package(self):
        return self.prefix / self.libdir / "cmake/millrace"

    def modules(self):
        return self.prefix / self.libdir / "pkgconfig"

    def flags_of(self, module):
        return self.run("pkg-config", "--cflags", "--libs", module, env=os.environ | {"PKG_CONFIG_PATH": str(self.modules())})

    def compiler(self):
        return re.search(r'CMAKE_CXX_COMPILER "(.*?)"', self.like.read_text(encoding="utf-8"))[1]


def expect(kept, message):
    if not kept:
        sys.exit(f"error: {message}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("case")
    for name in ("checkout", "build", "like"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--libdir", required=True)
    arguments = parser.parse_args()
    getattr(Check(arguments), arguments.case)()


if __name__ == "__main__":
    main()
