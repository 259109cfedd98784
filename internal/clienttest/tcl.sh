#!/bin/bash
# Runs those tests of Redis's own suite against a server that speak only of what there
# is here: the protocol, replies, connections, INFO. The suite comes from Debian's source
# package of redis; most of it is about data types and is left out (docs/compatibility.md).
# The list is of names, so a test that is renamed is missed: the number that ran is
# counted and must be the length of the list.
set -euo pipefail
cd "$(dirname "$0")/../.."

units=(protocol introspection info-command pause)
tests=(
	'Handle an empty query'
	'Negative multibulk length'
	'Out of range multibulk length'
	'Wrong multibulk payload header'
	'Negative multibulk payload length'
	'Out of range multibulk payload length'
	'Non-number multibulk payload length'
	'Multi bulk request not followed by bulk arguments'
	'Generic wrong number of args'
	'Unbalanced number of quotes'
	'Protocol desync regression test #1'
	'Protocol desync regression test #2'
	'Protocol desync regression test #3'
	'CLIENT LIST'
	'CLIENT LIST with IDs'
	'CLIENT INFO'
	'CLIENT KILL SKIPME YES/NO will kill all clients'
	'CLIENT REPLY OFF/ON: disable all commands reply'
	'CLIENT REPLY SKIP: skip the next command reply'
	'CLIENT REPLY ON: unset SKIP flag'
	'Test read commands are not blocked by client pause'
)

work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

# The sources are fetched with lists of our own, so that the machine's stay as they are.
# SUITE may name a directory that has them already.
if [ -z "${SUITE:-}" ]; then
	command -v tclsh dpkg-source >/dev/null || { echo 'tcl and dpkg-dev are needed: apt-get install tcl dpkg-dev' >&2; exit 1; }
	mkdir -p "$work/parts" "$work/lists/partial"
	for file in /etc/apt/sources.list.d/*.sources; do
		sed 's/^Types: deb$/Types: deb-src/' "$file" >"$work/parts/$(basename "$file")"
	done
	apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root)
	"${apt[@]}" update 2>/dev/null
	(cd "$work" && "${apt[@]}" source --download-only redis && tar xf redis_*.orig.tar.gz)
	SUITE=$(echo "$work"/redis-*/)
fi

go build -o "$work/sluice" ./cmd/sluice
"$work/sluice" serve --dir "" --log-format text --listen 127.0.0.1:0 >/dev/null 2>"$work/log" &
server=$!
for _ in $(seq 100); do
	grep -q 'msg=ready' "$work/log" && break
	sleep 0.1
done
port=$(sed -n 's/.*msg=listening listen=127.0.0.1:\([0-9]*\) .*/\1/p' "$work/log")

wanted=()
for name in "${tests[@]}"; do wanted+=(--only "$name"); done
cd "$SUITE"
passed=0 failed=0
for unit in "${units[@]}"; do
	timeout 120 ./runtest --host 127.0.0.1 --port "$port" --singledb --single "unit/$unit" "${wanted[@]}" 2>&1 |
		sed 's/\x1b\[[0-9;]*m//g' | grep -aE '^\[(ok|err|exception)\]' | tee "$work/$unit" || true
	passed=$((passed + $(grep -ac '^\[ok\]' "$work/$unit" || true)))
	failed=$((failed + $(grep -acE '^\[(err|exception)\]' "$work/$unit" || true)))
done
echo "$passed passed, $failed failed, of ${#tests[@]}"
[ "$failed" = 0 ] && [ "$passed" = "${#tests[@]}" ]
