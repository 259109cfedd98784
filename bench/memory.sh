#!/usr/bin/env bash
# Measures memory a key: a million token buckets with keys of 20 bytes, in Sluice
# and as Lua in redis-server, each as resident memory over the empty server.
#
#   bench/memory.sh [KEYS]     Markdown on standard output
set -euo pipefail
keys=${1:-1000000}
here=$(cd "$(dirname "$0")" && pwd)
sluice=${SLUICE:-$here/../bin/sluice}
work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null; rm -rf "$work"' EXIT

"$sluice" serve --listen 127.0.0.1:16380 --dir "" --log-level error >/dev/null 2>&1 &
pids+=($!) sluice_pid=$!
redis-server --port 16379 --bind 127.0.0.1 --save '' --appendonly no --dir "$work" >/dev/null 2>&1 &
pids+=($!) redis_pid=$!
for port in 16380 16379; do
  for _ in $(seq 100); do [ "$(redis-cli -p $port PING 2>/dev/null)" = PONG ] && break; sleep 0.1; done
done
sha=$(redis-cli -p 16379 SCRIPT LOAD "$(cat "$here/token_bucket.lua")")
rss() { awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$1/status"; }

# fill PORT WORD…: the request for each key, which takes the place of
# the word %.
fill() {
  local port=$1
  shift
  awk -v n="$keys" 'BEGIN {
    request = "*" (ARGC - 1) "\r\n"
    for (i = 1; i < ARGC; i++) request = request (ARGV[i] == "%" ? "$20\r\nuser:%015d\r\n" : "$" length(ARGV[i]) "\r\n" ARGV[i] "\r\n")
    for (i = 0; i < n; i++) printf request, i
  }' "$@" | redis-cli -p "$port" --pipe >/dev/null
}

echo "| server | keys | bytes a key over the empty server |"
echo "|---|---|---|"
before=$(rss $sluice_pid)
fill 16380 RL.ALLOW % token_bucket 100 1000000s 1
[ "$(redis-cli -p 16380 DBSIZE)" = "$keys" ]
echo "| Sluice, token_bucket | $keys | $((($(rss $sluice_pid) - before) / keys)) |"
before=$(rss $redis_pid)
fill 16379 EVALSHA "$sha" 1 % 100 1000000 1
[ "$(redis-cli -p 16379 DBSIZE)" = "$keys" ]
echo "| Redis, token bucket in Lua | $keys | $((($(rss $redis_pid) - before) / keys)) |"
