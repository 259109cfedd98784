#!/usr/bin/env bash
# Measures Sluice beside redis-server with redis-benchmark, in one run on one
# machine: requests a second and server CPU a request, for a token bucket in
# Sluice, the same as Lua in Redis (EVALSHA), and INCR. The rounds are
# interleaved; the table tells the median of each and the ratios.
#
#   bench/compare.sh [ROUNDS] [SECONDS]     Markdown on standard output
#
# It needs redis-server, redis-cli and redis-benchmark, and a built bin/sluice.
# Everything listens on loopback, and ends with the script.
set -euo pipefail
rounds=${1:-3} seconds=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
sluice=${SLUICE:-$here/../bin/sluice}
sluice_port=16380 redis_port=16379
work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null; rm -rf "$work"' EXIT

"$sluice" serve --listen 127.0.0.1:$sluice_port --dir "" --log-level error >"$work/sluice.log" 2>&1 &
pids+=($!) sluice_pid=$!
redis-server --port $redis_port --bind 127.0.0.1 --save '' --appendonly no --dir "$work" >"$work/redis.log" 2>&1 &
pids+=($!) redis_pid=$!
for port in $sluice_port $redis_port; do
  for _ in $(seq 100); do
    [ "$(redis-cli -p $port PING 2>/dev/null)" = PONG ] && break
    sleep 0.1
  done
  [ "$(redis-cli -p $port PING)" = PONG ]
done
sha=$(redis-cli -p $redis_port SCRIPT LOAD "$(cat "$here/token_bucket.lua")")

ticks_a_second=$(getconf CLK_TCK)
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# run NAME PID PORT PIPELINE COMMAND…: one measurement, a line in results.
run() {
  local name=$1 pid=$2 port=$3 depth=$4
  shift 4
  local n=${count[$name/$depth]:-20000} before after out rate
  before=$(ticks "$pid")
  out=$(redis-benchmark -p "$port" -c 50 -P "$depth" -n "$n" -r 100000 --csv "$@" | tail -n 1)
  after=$(ticks "$pid")
  rate=$(awk -F'","|"' '{ print $3 }' <<<"$out")
  # The next round lasts as long as was asked for.
  count[$name/$depth]=$(awk -v r="$rate" -v s="$seconds" -v d="$depth" 'BEGIN { printf "%d", r * s / d * d + d }')
  if [ "$n" -gt 20000 ]; then
    awk -v name="$name" -v depth="$depth" -v rate="$rate" -v n="$n" -v t="$((after - before))" -v hz="$ticks_a_second" \
      'BEGIN { print name, depth, rate, t / hz / n * 1e6 }' >>"$work/results"
  fi
}

declare -A count
for round in $(seq 0 "$rounds"); do # round 0 finds how many requests fill the time
  for depth in 1 16 100; do
    run sluice $sluice_pid $sluice_port $depth RL.ALLOW user:__rand_int__ token_bucket 100 1s 1
    run lua $redis_pid $redis_port $depth EVALSHA "$sha" 1 user:__rand_int__ 100 1 1
    run incr $redis_pid $redis_port $depth INCR counter:__rand_int__
  done
done

echo "$(redis-server --version | sed 's/ sha.*//'), $("$sluice" version)"
echo "$(nproc) cores ($(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)), Linux $(uname -r), $(date -u +%F), $rounds rounds of ${seconds} s"
echo
python3 - "$work/results" <<'PY'
import statistics, sys
rows = {}
for line in open(sys.argv[1]):
    name, depth, rate, cpu = line.split()
    rows.setdefault((name, int(depth)), []).append((float(rate), float(cpu)))
def median(name, depth, i): return statistics.median(r[i] for r in rows[name, depth])
def spread(name, depth, i):
    v = [r[i] for r in rows[name, depth]]
    return min(v), max(v)
print("| pipeline | what | requests a second (lowest … highest) | server CPU µs a request (lowest … highest) | requests against Lua | CPU against Lua | CPU against INCR |")
print("|---|---|---|---|---|---|---|")
for depth in (1, 16, 100):
    for name, title in (("sluice", "Sluice RL.ALLOW token_bucket"), ("lua", "Redis, token bucket in Lua"), ("incr", "Redis INCR")):
        rate, cpu = median(name, depth, 0), median(name, depth, 1)
        a, b = spread(name, depth, 0)
        c, d = spread(name, depth, 1)
        print(f"| {depth} | {title} | {rate:,.0f} ({a:,.0f} … {b:,.0f}) | {cpu:.2f} ({c:.2f} … {d:.2f}) | "
              f"{rate / median('lua', depth, 0):.2f} | 1/{median('lua', depth, 1) / cpu:.1f} | {cpu / median('incr', depth, 1):.2f} |")
PY
