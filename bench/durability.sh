#!/usr/bin/env bash
# Measures what the journal costs: RL.ALLOW at pipelines of 100 over 100,000 and a
# million keys and of 1, with each --journal setting; --journal always beside
# redis-server with appendfsync always (INCR) at pipelines of 16; and how fast a
# snapshot is loaded.
#
#   bench/durability.sh [ROUNDS] [SECONDS]     Markdown on standard output
set -euo pipefail
rounds=${1:-3} seconds=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
sluice=${SLUICE:-$here/../bin/sluice}
work=$(mktemp -d)
pid=
stop() { [ -z "$pid" ] || { kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; }; pid=; }
trap 'stop; rm -rf "$work"' EXIT
ready() { for _ in $(seq 300); do [ "$(redis-cli -p "$1" PING 2>/dev/null)" = PONG ] && return; sleep 0.1; done; return 1; }

# measure NAME PORT DEPTH KEYS COMMAND…: requests a second over about the seconds asked for.
measure() {
  local name=$1 port=$2 depth=$3 keys=$4 rate n=50000
  shift 4
  for pass in warm run; do
    rate=$(redis-benchmark -p "$port" -c 50 -P "$depth" -n "$n" -r "$keys" --csv "$@" | tail -n 1 | awk -F'","|"' '{ print $3 }')
    n=$(awk -v r="$rate" -v s="$seconds" 'BEGIN { printf "%d", r * s + 1000 }')
  done
  echo "$name|$depth|$keys|$rate" >>"$work/results"
}

for round in $(seq "$rounds"); do
  for journal in off os everysec always; do
    rm -rf "$work/data"
    "$sluice" serve --listen 127.0.0.1:16380 --dir "$work/data" --journal $journal --log-level error >/dev/null 2>&1 &
    pid=$!
    ready 16380
    if [ $journal = always ]; then
      measure "Sluice --journal always" 16380 16 100000 RL.ALLOW user:__rand_int__ fixed_window 1000000 1d 1
    else
      measure "Sluice --journal $journal" 16380 1 100000 RL.ALLOW user:__rand_int__ fixed_window 1000000 1d 1
      measure "Sluice --journal $journal" 16380 100 100000 RL.ALLOW user:__rand_int__ fixed_window 1000000 1d 1
      measure "Sluice --journal $journal" 16380 100 1000000 RL.ALLOW user:__rand_int__ fixed_window 1000000 1d 1
    fi
    stop
  done
  rm -rf "$work/redis"; mkdir "$work/redis"
  redis-server --port 16379 --bind 127.0.0.1 --save '' --appendonly yes --appendfsync always --dir "$work/redis" >/dev/null 2>&1 &
  pid=$!
  ready 16379
  measure "Redis INCR, appendfsync always" 16379 16 100000 INCR counter:__rand_int__
  stop
done

# A snapshot of a million keys, loaded again.
rm -rf "$work/data"
"$sluice" serve --listen 127.0.0.1:16380 --dir "$work/data" --journal off --log-level error >/dev/null 2>&1 &
pid=$!
ready 16380
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "RL.ALLOW user:%015d token_bucket 100 1000000s 1\n", i }' | redis-cli -p 16380 --pipe >/dev/null
redis-cli -p 16380 SAVE >/dev/null
bytes=$(stat -c %s "$work"/data/snapshot-*)
redis-cli -p 16380 SHUTDOWN NOSAVE >/dev/null 2>&1 || true
wait "$pid" 2>/dev/null || true
"$sluice" serve --listen 127.0.0.1:16380 --dir "$work/data" --journal off >/dev/null 2>"$work/log" &
pid=$!
for _ in $(seq 300); do grep -q msg=loaded "$work/log" && break; sleep 0.1; done
took=$(sed -n 's/.*msg=loaded.* took=//p' "$work/log")
echo "A snapshot of a million token buckets with keys of 20 bytes has $((bytes / 1000000)) bytes a key, the key among them, and was loaded in $took."
python3 - "$work/results" <<'PY'
import statistics, sys
rows = {}
for line in open(sys.argv[1]):
    name, depth, keys, rate = line.rstrip().split("|")
    rows.setdefault((int(depth), int(keys), name), []).append(float(rate))
print("| pipeline | keys | what | requests a second (lowest … highest) | against |")
print("|---|---|---|---|---|")
for (depth, keys, name), rates in sorted(rows.items()):
    base = (depth, keys, "Redis INCR, appendfsync always" if depth == 16 else "Sluice --journal off")
    ratio = statistics.median(rates) / statistics.median(rows[base])
    print(f"| {depth} | {keys:,} | {name} | {statistics.median(rates):,.0f} ({min(rates):,.0f} … {max(rates):,.0f}) | {ratio:.2f} × {base[2]} |")
PY
