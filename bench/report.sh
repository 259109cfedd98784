#!/usr/bin/env bash
# Runs every measurement and writes docs/performance.md and the figures of the
# README. It takes some minutes; nothing else should run on the machine.
#
#   bench/report.sh [ROUNDS] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3} seconds=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -trimpath -o bin/sluice ./cmd/sluice

bench/compare.sh "$rounds" "$seconds" >"$work/compare"
bench/memory.sh >"$work/memory"
bench/durability.sh "$rounds" "$seconds" >"$work/durability"
go test ./algorithms -run '^$' -bench '^BenchmarkDecide$' >"$work/decide"
go test ./shard -run '^$' -bench 'ForcedGC|LongestStep' >"$work/shard"

table() { grep '^|' "$1"; }
code() { echo '```'; grep '^Benchmark' "$1"; echo '```'; }
{
  cat bench/performance.head.md
  printf '\n## Beside redis-server\n\n%s\n\n' "$(head -n 2 "$work/compare")"
  table "$work/compare"
  printf '\n## Memory\n\n'
  table "$work/memory"
  printf '\n## Durability\n\n%s\n\n' "$(grep -v '^|' "$work/durability")"
  table "$work/durability"
  printf '\n## One decision, without a server\n\n`go test ./algorithms -bench Decide`\n\n'
  code "$work/decide"
  printf '\n## Garbage collection and pauses\n\n`go test ./shard -bench %s`\n\n' "'ForcedGC|LongestStep'"
  code "$work/shard"
} >docs/performance.md

python3 - "$work/compare" <<'PY'
import re, sys
lines = [l.rstrip("\n") for l in open(sys.argv[1])]
figures = "\n".join([lines[0] + "; " + lines[1] + ".", ""] + [l for l in lines if l.startswith("|")])
text = open("README.md").read()
text = re.sub(r"(<!-- figures:begin -->\n).*?(<!-- figures:end -->)", lambda m: m[1] + figures + "\n" + m[2], text, flags=re.S)
open("README.md", "w").write(text)
PY
