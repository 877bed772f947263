#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each check against a broken example that it must name, and a sound one that it must pass."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_rows
import file_rules
import layers
import source_rules
import words
from tree import Tree, includes, without_comments

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def run(check, path, text, *others):
    """The rules that `check` finds broken in one file, with `others` as empty neighbours."""
    texts = {path: text} | {other: SPDX for other in others}
    return [(f.line, f.rule) for f in check(Tree(texts)) if f.path == path and not f.warning]


class Reading(unittest.TestCase):
    def test_comments_and_literals_are_blanked_and_lines_kept(self):
        bare = without_comments('int a; // catch (\nauto s = "catch (x)"; /* catch (\n */ char c = \'"\'; auto r = R"x(catch ()x"; int n = 1\'000;')
        self.assertNotIn("catch", bare)
        self.assertEqual(bare.count("\n"), 2)
        self.assertIn("int n = 1'000;", bare)

    def test_includes_with_line_numbers(self):
        text = '#include <a>\n// #include <no>\n/* #include "no" */\n  #  include "b/c.h"\n'
        self.assertEqual(includes(text), [(1, "a", True), (4, "b/c.h", False)])


class Layers(unittest.TestCase):
    BROKEN = {
        "a stage includes a later one": ("src/codec/x.cc", '#include "millrace/sink/sink.h"\n'),
        "a public header of a stage includes a later one": ("include/millrace/framing/x.h", '#include "millrace/decode/x.h"\n'),
        "a private header of a later stage": ("src/store/x.cc", '#include "sink/queue.h"\n'),
        "below the line looks up": ("src/base/x.cc", '#include "millrace/ack/ack_ref.h"\n'),
        "ack knows records": ("include/millrace/ack/x.h", '#include "millrace/record/record.h"\n'),
        "checkpoint knows a source": ("src/checkpoint/x.cc", '#include "millrace/source/lane.h"\n'),
        "a stage knows config": ("src/sink/x.cc", '#include "millrace/config/schema.h"\n'),
        "config knows a stage": ("src/config/x.cc", '#include "millrace/sink/sink.h"\n'),
        "a stage knows the pipeline": ("src/source/x.cc", '#include "pipeline/lane_loop.h"\n'),
        "the engine knows a connector": ("src/pipeline/x.cc", '#include "connectors/s3/options.h"\n'),
        "the engine knows a format": ("src/pipeline/x.cc", '#include "formats/ndjson/framer.h"\n'),
        "a connector knows the engine's inside": ("connectors/s3/x.cc", '#include "pipeline/lane_loop.h"\n'),
        "a connector looks into a client library": ("connectors/iggy/x.cc", '#include "connectors/iggy_client/socket.h"\n'),
        "a client library knows more than base": ("connectors/iggy_client/x.cc", '#include "millrace/source/lane.h"\n'),
        "a connector knows another": ("connectors/s3/x.cc", '#include "connectors/kafka/options.h"\n'),
        "a format knows the engine's inside": ("formats/ndjson/x.cc", '#include "codec/gzip.h"\n'),
        "a public header includes an internal one": ("include/millrace/sink/x.h", '#include "sink/queue.h"\n'),
        "a public header names a foreign library": ("include/millrace/sink/x.h", "#include <fmt/format.h>\n"),
        "a public connector header names its client": ("include/millrace/connectors/s3.h", "#include <curl/curl.h>\n"),
        "a client library outside its folder": ("src/sink/x.cc", "#include <curl/curl.h>\n"),
        "an unknown folder": ("src/gadgets/x.cc", '#include "millrace/base/ids.h"\n'),
        "an example looks inside": ("examples/x.cc", '#include "sink/queue.h"\n'),
        "a path from the root": ("src/sink/x.cc", '#include "src/sink/queue.h"\n'),
        "a product file includes a test": ("src/sink/x.cc", '#include "tests/servers/x.h"\n'),
    }
    SOUND = {
        "a stage includes an earlier one": ("src/sink/x.cc", '#include "millrace/encode/encoded_chunk.h"\n#include "encode/x.h"\n'),
        "below the line": ("src/record/x.cc", '#include "millrace/ack/ack_ref.h"\n#include "millrace/base/ids.h"\n'),
        "metrics from any stage": ("src/codec/x.cc", '#include "millrace/metrics/meter.h"\n'),
        "the pipeline sees all stages": ("src/pipeline/x.cc", '#include "millrace/store/x.h"\n#include "checkpoint/x.h"\n'),
        "a connector": ("connectors/s3/x.cc", '#include "connectors/s3/options.h"\n#include "millrace/source/lane.h"\n#include "store/x.h"\n'),
        "the list of formats names each": ("formats/formats.cc", '#include "formats/ndjson/framer.h"\n'),
        "the program names everything": ("cli/main.cc", '#include "connectors/s3/factory.h"\n#include "formats/ndjson/framer.h"\n'),
        "a test": ("src/base/x_test.cc", '#include "millrace/sink/sink.h"\n#include <gtest/gtest.h>\n'),
        "a store for tests beside the real ones": ("src/store/memory/x.cc", '#include "millrace/testing/x.h"\n'),
        "a client library at home": ("src/store/s3/x.cc", "#include <curl/curl.h>\n"),
        "everybody knows the version": ("src/base/version.cc", '#include "millrace/version.h"\n'),
        "an example": ("examples/x.cc", '#include "millrace/millrace.h"\n#include <fmt/format.h>\n'),
    }

    def test_broken(self):
        for name, (path, text) in self.BROKEN.items():
            with self.subTest(name):
                self.assertEqual(run(layers.check, path, "\n" + text), [(2, "layers")])

    def test_sound(self):
        for name, (path, text) in self.SOUND.items():
            with self.subTest(name):
                self.assertEqual(run(layers.check, path, text), [])

    def test_no_stage_may_include_a_later_one(self):
        order = layers.BELOW + layers.STAGES
        for i, later in enumerate(order):
            for earlier in order[:i]:
                with self.subTest(f"{earlier} -> {later}"):
                    self.assertNotEqual(run(layers.check, f"src/{earlier}/x.cc", f'#include "millrace/{later}/x.h"\n'), [])


class SourceRules(unittest.TestCase):
    BROKEN = {
        "catch": ("src/sink/x.cc", "void f() { try { g(); } catch (...) {} }\n", "catch"),
        "mutex": ("src/sink/x.cc", "std::mutex m;\n", "threads"),
        "atomic in a test": ("src/sink/x_test.cc", "std::atomic<int> n;\n", "threads"),
        "thread header": ("src/sink/x.cc", "#include <thread>\n", "threads"),
        "clock": ("src/sink/x.cc", "auto t = std::chrono::steady_clock::now();\n", "time"),
        "sleep": ("src/sink/x_test.cc", "std::this_thread::sleep_for(d);\n", "time"),
        "chance": ("src/sink/x.cc", "std::random_device d;\n", "time"),
        "no pragma": ("src/sink/x.h", "int f();\n", "headers"),
    }

    def test_broken(self):
        for name, (path, text, rule) in self.BROKEN.items():
            with self.subTest(name):
                self.assertIn((1, rule), run(source_rules.check, path, text))

    def test_sound(self):
        self.assertEqual(run(source_rules.check, "src/sink/x_adapter.cc", "void f() { try { g(); } catch (...) {} }\n"), [])
        self.assertEqual(run(source_rules.check, "include/millrace/base/sync.h", "#pragma once\n#include <mutex>\nusing M = std::mutex;\n"), [])
        self.assertEqual(run(source_rules.check, "src/sink/x.cc", "// no std::mutex, no catch (\nMutex m; int timeout(0);\n"), [])

    def test_public_declarations_are_shown_by_shared_libraries(self):
        show, declared, end = source_rules.SHOW + "\n", "namespace millrace {\nint f();\n}  // namespace millrace\n", source_rules.SHOW_END + "\n"
        header = "#pragma once\n\n"
        public = "include/millrace/sink/x.h"
        self.assertEqual(run(source_rules.check, public, header + show + declared + end), [])
        self.assertEqual(run(source_rules.check, public, header + show + declared + "\n" + declared + end), [])
        self.assertEqual(run(source_rules.check, public, header + '#include "millrace/ops/map.h"\n'), [])  # which declares nothing
        self.assertEqual(run(source_rules.check, "src/sink/x.h", header + declared), [])
        for name, text in {
            "not shown": declared,
            "shown in part": declared + show + declared + end,
            "without an end": show + declared,
            "shown with what it includes": show + declared + "#include <map>\n" + declared + end,
        }.items():
            with self.subTest(name):
                self.assertIn("visibility", [rule for _, rule in run(source_rules.check, public, header + text)])

    def test_own_header_first(self):
        late = '#include <vector>\n#include "sink/x.h"\n'
        self.assertEqual(run(source_rules.check, "src/sink/x.cc", late, "src/sink/x.h"), [(1, "headers")])
        self.assertEqual(run(source_rules.check, "src/sink/x.cc", '#include "sink/x.h"\n#include <vector>\n', "src/sink/x.h"), [])
        public = "include/millrace/sink/x.h"
        self.assertEqual(run(source_rules.check, "src/sink/x.cc", late, public), [(1, "headers")])
        self.assertEqual(run(source_rules.check, "src/sink/x.cc", '#include "millrace/sink/x.h"\n', public), [])
        self.assertEqual(run(source_rules.check, "connectors/s3/x.cc", '#include "connectors/s3/x.h"\n', "connectors/s3/x.h"), [])


class FileRules(unittest.TestCase):
    def rules(self, path, text=SPDX):
        return run(file_rules.check, path, text)

    def test_names(self):
        self.assertEqual(self.rules("src/sink/laneSink.cc"), [(1, "names")])
        self.assertEqual(self.rules("src/string_utils/x.cc"), [(1, "names")])
        self.assertEqual(self.rules("src/sink/test-helper.h"), [(1, "names"), (1, "names")])
        self.assertEqual(self.rules("src/sink/common.h"), [(1, "names")])
        self.assertEqual(self.rules("src/sink/lane_sink.cc"), [])
        self.assertEqual(self.rules("cmake/Millrace.cmake"), [])

    def test_length(self):
        self.assertEqual(self.rules("src/x/a.cc", SPDX * 601), [(601, "length")])
        self.assertEqual(self.rules("src/x/a.cc", SPDX * 600), [])
        warned = [f for f in file_rules.check(Tree({"src/x/a.cc": SPDX * 401}))]
        self.assertEqual([(f.rule, f.warning) for f in warned], [("length", True)])

    def test_licence(self):
        self.assertEqual(self.rules("src/x/a.cc", "int a;\n"), [(1, "licence")])
        self.assertEqual(self.rules("src/x/CMakeLists.txt", "project(x)\n"), [(1, "licence")])
        self.assertEqual(self.rules("dev", "#!/bin/sh\necho\n"), [(1, "licence")])
        self.assertEqual(self.rules("dev", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n"), [])


class Words(unittest.TestCase):
    # In pieces, so that this file passes the check.
    BROKEN = [
        "see /wo" "rk/main/x", "in /ro" "ot/.cache", "from https://py" "pi.org/simple", "np" "m from registry.np" "mjs.org",
        "a sub" "agent wrote it", "Co-auth" "ored-by: x", "as the CE" "O said", "see br" "ief.md", "shared/" "spec/engine.md says",
    ]

    def test_broken(self):
        for text in self.BROKEN:
            with self.subTest(text):
                self.assertEqual(run(words.check, "README.md", "\n" + text), [(2, "words")])

    def test_sound(self):
        sound = "framework/ network/x a/ro" "ot/b, the USGS at earthquake.usgs.gov; go mod download github.com/seaweedfs/seaweedfs\n"
        self.assertEqual(run(words.check, "README.md", sound), [])


class FaultRows(unittest.TestCase):
    TREE = {
        "src/x/a_test.cc": "TEST_F(Frames, A01_B02_Both) {}\nTEST(Frames, Plain) {}\n// TEST(Frames, A01_Gone) {}\n",
        "src/x/p_test.cc": "RC_GTEST_PROP(Frames, C03_Always, ()) {}\n",
        "src/x/y_cases.cc": '    {"D04_EveryStore", d04_every_store, always},\n',
        "tests/x/cases/E05_slow.fault": "times=1\n",
    }
    PAGE = [
        "| A01 | both | `Frames.A01_B02_Both`, `Frames.Plain` |",
        "| B02 | both | `Frames.A01_B02_Both` |",
        "| C03 | always | `Frames.C03_Always` |",
        "| D04 | everywhere | `D04_EveryStore` |",
        "| E05 | slow | `E05_slow.fault` |",
        "| F06 | later | not yet: there are no partitions |",
    ]

    def found(self, page, **more):
        tree = Tree(self.TREE | more | {fault_rows.PAGE: "\n".join(page) + "\n"})
        return [(f.path, f.line, f.rule) for f in fault_rows.check(tree)]

    def test_sound(self):
        self.assertEqual(self.found(self.PAGE), [])

    def test_a_test_that_the_page_lacks(self):
        for row in range(5):
            with self.subTest(self.PAGE[row]):
                self.assertEqual(len(self.found(self.PAGE[:row] + self.PAGE[row + 1 :])), 1)
        self.assertEqual(self.found(self.PAGE[:1] + ["| B02 | both | `Frames.Plain` |"] + self.PAGE[2:]), [("src/x/a_test.cc", 1, "fault-rows")])
        self.assertEqual(len(fault_rows.check(Tree(self.TREE))), 5, "no page at all")

    def test_a_row_behind_an_invariant(self):
        for name in ("INV1_A01_Kept", "INV4_INV10_A01_Kept"):
            with self.subTest(name):
                more = {"src/x/z_test.cc": f"TEST(Frames, {name}) {{}}\n"}
                self.assertEqual(self.found(self.PAGE, **more), [("src/x/z_test.cc", 1, "fault-rows")])
                named = [self.PAGE[0].replace("`Frames.Plain`", f"`Frames.{name}`")] + self.PAGE[1:]
                self.assertEqual(self.found(named, **more), [])

    def test_a_name_that_the_tree_lacks(self):
        for name in ("Frames.A01_Gone", "Frames.Plainer", "D04_Every", "E05_fast.fault"):
            with self.subTest(name):
                page = self.PAGE[:5] + [f"| F06 | later | `{name}` |"]
                self.assertEqual(self.found(page), [(fault_rows.PAGE, 6, "fault-rows")])

    def test_a_row_that_says_nothing_or_stands_twice(self):
        self.assertEqual(self.found(self.PAGE[:5] + ["| F06 | later | |"]), [(fault_rows.PAGE, 6, "fault-rows")])
        self.assertEqual(self.found(self.PAGE + self.PAGE[5:]), [(fault_rows.PAGE, 7, "fault-rows")])


if __name__ == "__main__":
    unittest.main()
