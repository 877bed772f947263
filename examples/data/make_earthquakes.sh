#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes examples/data/earthquakes/ anew from the npm package vega-datasets; SOURCE.md says what it is.
# Needs npm, python3, gzip and zstd. The same versions of gzip and zstd give the same bytes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$work" && npm pack --silent vega-datasets@3.2.1 >/dev/null && tar -xzf vega-datasets-3.2.1.tgz package/data/earthquakes.json)
echo "a42702a83ffbae679f95d1fa53e2cae0bae13b21e599a68cdd50a44fc52129f7  $work/package/data/earthquakes.json" | sha256sum --check --quiet -

# One feature a line, byte for byte as it stands in the file; one file for each UTC day, in order of time.
python3 - "$work/package/data/earthquakes.json" "$work" <<'PY'
import datetime, json, sys
text = open(sys.argv[1], encoding="utf-8").read()
at = text.index('"features":[') + len('"features":[')
days = {}
while text[at] != "]":
    feature, end = json.JSONDecoder().raw_decode(text, at)
    time = feature["properties"]["time"]
    day = datetime.datetime.fromtimestamp(time / 1000, datetime.timezone.utc).date().isoformat()
    days.setdefault(day, []).append((time, text[at:end]))
    at = end
    while text[at] in ",\n":
        at += 1
for day, features in days.items():
    with open(f"{sys.argv[2]}/{day}.ndjson", "w", encoding="utf-8", newline="\n") as out:
        out.writelines(line + "\n" for _, line in sorted(features))
PY

out=$here/earthquakes
rm -rf "$out"
mkdir "$out"
cd "$work"
for day in 2018-01-31 2018-02-01; do gzip -9 -n -c $day.ndjson >"$out/$day.ndjson.gz"; done
{ head -n 100 2018-02-02.ndjson | gzip -9 -n; tail -n +101 2018-02-02.ndjson | gzip -9 -n; } >"$out/2018-02-02.ndjson.gz" # two members
for day in 2018-02-03 2018-02-04; do zstd -q -19 -c $day.ndjson >"$out/$day.ndjson.zst"; done
{ head -n 100 2018-02-05.ndjson | zstd -q -19; tail -n +101 2018-02-05.ndjson | zstd -q -19; } >"$out/2018-02-05.ndjson.zst" # two frames
gzip -9 -n -c 2018-02-06.ndjson >"$out/2018-02-06.ndjson.gz"
cp 2018-02-07.ndjson "$out/"
ls -l "$out"
