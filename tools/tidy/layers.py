# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the table of docs/ARCHITECTURE.md, checked against the #include lines.

The engine's folders stand in data order. A folder includes itself, what stands before it, and nothing further down.
`x` means both include/millrace/x/ and src/x/.
"""
from tree import Finding, includes

# Below the line: words that all stages share.
BELOW = ["base", "ack", "record"]
# The stages, in the order in which the data passes them.
STAGES = ["store", "codec", "framing", "source", "decode", "ops", "encode", "sink"]

# folder -> folders it may include, itself apart.
MAY_INCLUDE = {
    "base": [],
    "ack": ["base"],
    "record": ["base", "ack"],
    "metrics": ["base"],
    "config": ["base"],
    "log": ["base"],
    "checkpoint": ["base", "ack"],
    "iggy_client": ["base"],
    "admin": ["base", "metrics", "pipeline"],
}
for position, stage in enumerate(STAGES):
    MAY_INCLUDE[stage] = BELOW + ["metrics"] + STAGES[:position]
MAY_INCLUDE["pipeline"] = BELOW + STAGES + ["checkpoint", "metrics", "config"]
MAY_INCLUDE["testing"] = MAY_INCLUDE["pipeline"] + ["pipeline"]

# Stores that implement headers of include/millrace/testing/; they lie beside the real ones.
STORES_FOR_TESTS = ("src/store/memory/", "src/store/faulty/", "src/store/slow/")

# A client library beside the connector that uses it; a layer of its own, that others see by its public headers only.
ALONE = ("connectors/iggy_client/",)

REASON = {
    "base": "base lies below everything",
    "ack": "ack needs ids and results only, so that no stage is needed by it",
    "checkpoint": "checkpoint needs base and ack only, so that it can be model-checked",
    "iggy_client": "the Iggy client can be linked alone, with base",
    "config": "config maps onto the options of stages, so no stage is needed by it",
    "admin": "admin shows what metrics and the pipeline's snapshot say",
}

# Client libraries and heavy headers: include prefix -> where it may be named outside tests.
FOREIGN = {
    "curl/": ["src/store/s3/"],
    "aws/": ["src/store/s3/", "src/store/checksum/"],
    "pugixml": ["src/store/s3/"],
    "openssl/": ["src/store/s3/", "src/store/checksum/", "connectors/iggy_client/"],
    "isa-l": ["src/codec/"],
    "zstd": ["src/codec/"],
    "zlib": ["src/codec/"],
    "bzlib": ["src/codec/"],
    "lzma": ["src/codec/"],
    "lz4": ["src/codec/"],
    "simdjson": ["src/decode/", "src/encode/", "formats/"],
    "yaml-cpp/": ["src/config/"],
    "prometheus/": ["src/metrics/"],
    "httplib": ["src/admin/", "examples/http_poll_source/"],
    "libpq-fe.h": ["examples/postgres_sink/"],
    "spdlog/": ["src/log/"],
    "CLI/": ["cli/"],
    "jq.h": ["src/ops/transforms/"],
    "jv.h": ["src/ops/transforms/"],
    "re2/": ["src/ops/transforms/"],
    "toml++/": ["cli/"],
    "librdkafka/": ["connectors/kafka/"],
    "arrow/": ["formats/parquet/"],
    "parquet/": ["formats/parquet/"],
}


def layer_of_file(path):
    """The layer a file belongs to; None where every include is welcome (tests, benches, fuzzers, the program)."""
    parts = path.split("/")
    if path.endswith("_test.cc") or parts[0] in ("tests", "bench", "fuzz", "cli", "tools"):
        return None
    if parts[:2] == ["include", "millrace"]:
        return "public connectors" if parts[2] == "connectors" else parts[2] if len(parts) > 3 else None
    if path.startswith(STORES_FOR_TESTS):
        return "testing"
    if path.startswith(ALONE):
        return parts[1]
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    return parts[0] if parts[0] in ("connectors", "formats", "examples") else None


def layer_of_include(path):
    """(layer, public) of an included path; (None, ...) when it is not ours."""
    parts = path.split("/")
    if len(parts) < 2:
        return None, False
    if parts[0] == "millrace":
        return (parts[1] if len(parts) > 2 else "millrace"), True
    if path.startswith(ALONE):
        return parts[1], False
    if parts[0] in MAY_INCLUDE or parts[0] in ("connectors", "formats", "cli", "tests", "examples", "src", "include"):
        return parts[0], False
    return None, False


def why_not(layer, owner, target, public, included):
    """Why a file of `layer` (in folder `owner`) may not include `target`; None when it may."""
    if target in ("src", "include"):
        return 'name the header as others do: "millrace/..." if public, else from src/ on'
    if target == "tests":
        return "only tests include tests/"
    if layer == "examples":
        return None if public else "an example includes include/millrace/ only, as a user would"
    if layer == "public connectors":
        if not public:
            return "a public header includes public headers only"
        return None if target in MAY_INCLUDE or target == "connectors" else f"there is no layer '{target}'"
    if layer in ("connectors", "formats"):
        if public or target == "store":
            return None
        if included.startswith(owner):
            return None
        if layer == "connectors" and target == "formats":
            return "a connector takes its format through the seam; cli/ or the builder joins them"
        return f"{owner} sees include/millrace/ and src/store/ only"
    if layer not in MAY_INCLUDE:
        return f"folder '{layer}' is not in the layer table (tools/tidy/layers.py)"
    if target == layer or target in MAY_INCLUDE[layer]:
        return None
    if target in ("connectors", "formats", "cli"):
        return f"the engine names no connector, format or program ({target}/)"
    if target not in MAY_INCLUDE:
        return f"folder '{target}' is not in the layer table (tools/tidy/layers.py)"
    return f"{layer} may not include {target}: " + REASON.get(layer, f"{target} stands after {layer} in the data's way")


def check(tree):
    findings = []
    for path, text in tree.cpp().items():
        for line, included, angle in includes(text):
            reason = ours(path, included) if layer_of_include(included)[0] else foreign(path, included, angle)
            if reason:
                findings.append(Finding(path, line, "layers", f"{included}: {reason}"))
    return findings


def ours(path, included):
    layer = layer_of_file(path)
    target, public = layer_of_include(included)
    if layer is None:
        return None
    if path.startswith("include/millrace/") and not public:
        return "is internal; public headers include public headers only"
    # A file right in formats/ (the list of them) owns the whole folder; one in formats/ndjson/ owns that.
    return why_not(layer, "/".join(path.split("/")[:-1][:2]) + "/", target, public, included)


def foreign(path, included, angle):
    if path.endswith("_test.cc") or path.startswith(("tests/", "bench/", "fuzz/")):
        return None
    if path.startswith("include/millrace/"):
        # sanitizer/ comes with the compiler and is included only where that sanitizer is on.
        standard = angle and (("/" not in included and "." not in included) or included.startswith("sanitizer/"))
        shipped_for_tests = path.startswith("include/millrace/testing/") and included.startswith("gtest/")
        return None if standard or shipped_for_tests else "is foreign; public headers name the standard library only"
    for prefix, homes in FOREIGN.items():
        if included.startswith(prefix) and not path.startswith(tuple(homes)):
            return f"belongs to {' '.join(homes)} only"
    return None
