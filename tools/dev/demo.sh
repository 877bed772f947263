# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev demo: the main job as a newcomer sees it. Sourced by ./dev.
# First the real data of examples/data; then a larger generated set whose run is killed with SIGKILL in the middle and
# started again. What comes out is compared with what went in by zcat, zstdcat, sort and cmp, not by Millrace.

demo=build/demo
millrace=build/release/bin/millrace

# plain FOLDER: the decompressed bytes of every file in FOLDER, in order of name.
plain() {
  local file
  for file in "$1"/*; do
    case $file in
    *.gz) zcat "$file" ;;
    *.zst) zstdcat -q "$file" ;;
    *) cat "$file" ;;
    esac
  done
}

# written FOLDER: the bytes of every output file below FOLDER.
written() { find "$1" -type f ! -name '.*' -print0 2>/dev/null | sort -z | xargs -0 -r cat; }

# show COMMAND...: says what is run, then runs it.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# same_lines IN OUT: every line of folder IN is in folder OUT, and nothing else is. Sets lines_in, lines_out, lines_apart.
same_lines() {
  local scratch
  scratch=$(mktemp -d "$demo/compare.XXXXXX")
  plain "$1" | LC_ALL=C sort -S 512M -T "$scratch" >"$scratch/in"
  written "$2" | LC_ALL=C sort -S 512M -T "$scratch" >"$scratch/out"
  lines_in=$(wc -l <"$scratch/in")
  lines_out=$(wc -l <"$scratch/out")
  uniq "$scratch/out" >"$scratch/apart"
  lines_apart=$(wc -l <"$scratch/apart")
  cmp "$scratch/in" "$scratch/apart" || die "the output is not the input: compare $scratch/in with $scratch/apart"
  rm -rf "$scratch"
}

demo_earthquakes() {
  say "1. Real data: 1,707 earthquakes in eight gzip, zstd and plain objects"
  rm -rf build/hello
  show "$millrace" run examples/hello.yaml
  same_lines examples/data/earthquakes build/hello/out
  [ "$lines_out" = "$lines_in" ] || die "$lines_out lines were written where $lines_in were read"
  say "zcat, zstdcat and sort agree: $lines_in lines in, the same $lines_out lines out"
  say "run again, it knows that nothing is left"
  show "$millrace" run examples/hello.yaml
}

# bulk_run: the run of part 2, in the background; its pid in `run`.
bulk_run() {
  printf '\n$ %s run' "$millrace"
  printf ' %s' "${copy[@]}"
  printf '\n'
  "$millrace" run "${copy[@]}" &
  run=$!
}

demo_bulk() {
  local total now status run
  # Small files and quick commits, so that a third of a second has something to show.
  local copy=(--from "file://$PWD/$demo/in/" --to "file://$PWD/$demo/out/"
    --set "source.s3.checkpoint.url=file://$PWD/$demo/manifest.json" --set checkpoint.interval=100ms --set sink.s3.max_file_size=4MiB)
  say "2. A larger set: 300 MB in 24 plain, gzip and zstd objects (made by tools/gen_ndjson.py)"
  rm -rf "$demo/in" "$demo/out" "$demo"/manifest.*
  python3 tools/gen_ndjson.py --size 300M --files 24 --mix --out "$demo/in" --jobs "$(jobs_here)"
  total=$((300 * 1024 * 1024))

  say "it starts, and is killed with SIGKILL after about a third"
  bulk_run
  while kill -0 "$run" 2>/dev/null; do
    now=$(du -sb "$demo/out" 2>/dev/null | cut -f1) || true
    if [ "${now:-0}" -gt $((total / 3)) ] && [ -e "$demo/manifest.json" ]; then
      kill -9 "$run"
      break
    fi
    sleep 0.01
  done
  status=0
  wait "$run" 2>/dev/null || status=$?
  [ $status = 137 ] || die "the run was to be killed in the middle, but ended with status $status before"
  say "killed; $(written "$demo/out" | wc -l) lines are in complete files, and the manifest knows"
  show "$millrace" status "${copy[@]}"

  say "the same command again: it goes on from there"
  bulk_run
  wait "$run"
  same_lines "$demo/in" "$demo/out"
  say "sort and cmp agree: $lines_in lines in, the same $lines_apart out; $((lines_out - lines_apart)) were written twice (replayed after the kill), none is missing"
}

dev_demo() {
  local begun=$SECONDS lines_in lines_out lines_apart
  dev_build release
  mkdir -p "$demo"
  demo_earthquakes
  demo_bulk
  rm -rf "$demo/in" "$demo/out"
  say "that was all, in $((SECONDS - begun)) s. Next: README.md, then ./dev test"
}
