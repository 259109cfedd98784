#!/bin/bash
# Connects every client that is spoken for to a server: without and with a password,
# without and with TLS, in RESP2 and in RESP3, as far as the client can. Each sends 1,001
# calls at once and has the right answers, gets an error answer, and closes; anything on
# standard error is a fault. redis-cli and redis-benchmark are used as people use them.
# What is missing is installed, as root: Debian's packages, npm's and Go's.
#
#   run.sh            tests, and prints the table
#   run.sh --update   also writes it into docs/compatibility.md
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT

# install PACKAGE COMMAND …: installs those Debian packages whose command fails.
install() {
	local missing=()
	while [ $# -gt 0 ]; do
		eval "$2" >/dev/null 2>&1 || missing+=($1)
		shift 2
	done
	[ ${#missing[@]} -eq 0 ] && return
	local as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
install redis-tools 'redis-cli --version && redis-benchmark --version' python3-redis '/usr/bin/python3 -c "import redis"' \
	'php-cli php-redis' 'php -r "new Redis;"' 'ruby ruby-redis' '/usr/bin/ruby -e "require %q(redis)"' 'nodejs npm' 'node --version && npm --version'

go build -o "$work/clienttest" .
(cd ../.. && go build -o "$work/sluice" ./cmd/sluice)
cp package.json package-lock.json client.js "$work"
(cd "$work" && npm ci --silent --ignore-scripts --no-audit --no-fund >/dev/null)
"$work/clienttest" certificates "$work"

# serve NAME PASSWORD: starts a server and sets PLAIN and SECURE to its ports.
serve() {
	local log=$work/$1.log
	SLUICE_REQUIREPASS=$2 "$work/sluice" serve --dir "" --log-format text --listen 127.0.0.1:0 --tls-listen 127.0.0.1:0 \
		--tls-cert "$work/server.crt" --tls-key "$work/server.key" >"$work/$1.out" 2>"$log" &
	pids+=($!)
	for _ in $(seq 300); do
		grep -q 'msg=ready' "$log" && break
		sleep 0.1
	done
	grep -q 'msg=ready' "$log" || { cat "$log" >&2; exit 1; }
	read -r PLAIN SECURE < <(sed -n 's/.*msg=listening listen=127.0.0.1:\([0-9]*\) .*/\1/p' "$log" | xargs)
}
serve open ''
open=($PLAIN $SECURE)
serve closed sesame
closed=($PLAIN $SECURE)

export HOST=127.0.0.1 NODE_NO_WARNINGS=0
passed=0 failed=0
rows=()

# attempt WHAT COMMAND …: runs a client with the environment that is set.
attempt() {
	local what=$1
	shift
	if timeout 60 "$@" >"$work/stdout" 2>"$work/stderr" && [ ! -s "$work/stderr" ]; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	ok=no
	echo "FAILED: $what"
	sed 's/^/    /' "$work/stdout" "$work/stderr" | head -n 20
}

# client TITLE PROTOCOLS COMMAND …: all that a client can do, and its row of the table.
client() {
	local title=$1 protocols=$2 version= proto auth tls
	shift 2
	ok=yes
	for proto in $protocols; do
		for auth in no yes; do
			for tls in no yes; do
				local ports=("${open[@]}")
				[ $auth = yes ] && ports=("${closed[@]}")
				PROTO=$proto PASSWORD=$([ $auth = yes ] && echo sesame || true) CA=$([ $tls = yes ] && echo "$work/ca.crt" || true) \
					PORT=${ports[$([ $tls = yes ] && echo 1 || echo 0)]} KEY="client:$title:$proto:$auth:$tls" \
					attempt "$title, RESP$proto, password $auth, TLS $tls" "$@"
				[ -s "$work/stdout" ] && version=$(tail -n 1 "$work/stdout")
			done
		done
	done
	rows+=("| $title | ${version#v} | ${protocols// /, } | yes | yes | $([ $ok = yes ] && echo passes || echo FAILS) |")
	echo "$title ${version#v}: $ok"
}

client go-redis '2 3' "$work/clienttest" go-redis
client rueidis '2 3' "$work/clienttest" rueidis
client redigo '2' "$work/clienttest" redigo
client 'ioredis 6' '2 3' node "$work/client.js" ioredis6
client 'ioredis 5' '2' node "$work/client.js" ioredis5
client 'node-redis 6' '2 3' node "$work/client.js" redis6
client 'node-redis 5' '2 3' node "$work/client.js" redis5
client redis-py '2' /usr/bin/python3 client.py
client phpredis '2' php client.php
client redis-rb '2' /usr/bin/ruby -W client.rb

. ./tools.sh

table() {
	echo '| client | version | RESP | password | TLS | result |'
	echo '|---|---|---|---|---|---|'
	printf '%s\n' "${rows[@]}"
}
table
if [ "${1:-}" = --update ]; then
	page=$here/../../docs/compatibility.md
	awk -v table="$(table)" '/<!-- table:begin/ {print; print table; inside = 1} /<!-- table:end/ {inside = 0} !inside' "$page" >"$work/page"
	cp "$work/page" "$page"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
