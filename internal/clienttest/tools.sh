# redis-cli, redis-benchmark and the exporter for Prometheus, as people use them. run.sh reads this file.

# tool WHAT EXPECTED COMMAND …: what a tool prints must have a text in it, and no
# complaint.
tool() {
	local what=$1 expected=$2
	shift 2
	if timeout 100 "$@" >"$work/stdout" 2>&1 </dev/null; then :; fi
	if tr '\r' '\n' <"$work/stdout" | grep -q -- "$expected" && ! grep -qi 'warning\|err \|error:\|errors: [1-9]\|noauth' "$work/stdout"; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	ok=no
	echo "FAILED: $what"
	head -c 1500 "$work/stdout" | sed 's/^/    /'
}

for protocol in -2 -3; do
	for auth in no yes; do
		for tls in no yes; do
			at=("${open[@]}") how=("$protocol")
			[ $auth = yes ] && at=("${closed[@]}") && how+=(--user default --pass sesame --no-auth-warning)
			[ $tls = yes ] && how+=(--tls --cacert "$work/ca.crt" -p "${at[1]}") || how+=(-p "${at[0]}")
			commands+=("redis-cli ${how[*]}")
		done
	done
done

ok=yes
for i in "${!commands[@]}"; do
	name=${commands[i]}
	read -ra words <<<"$name"
	tool "$name: a call" '^99$' "${words[@]}" RL.ALLOW "tool:$i" fixed_window 100 1h
	tool "$name --bigkeys" 'Sampled [0-9]* keys' "${words[@]}" --bigkeys
	tool "$name --memkeys" 'Sampled [0-9]* keys' "${words[@]}" --memkeys
	tool "$name --hotkeys" 'Sampled [0-9]* keys' "${words[@]}" --hotkeys
	tool "$name --scan" "tool:" "${words[@]}" --scan --pattern 'tool:*'
done
tool 'redis-cli --stat' 'keys *mem *clients' script -qec "timeout 3 redis-cli -p ${open[0]} --stat -i 1" /dev/null
(for _ in $(seq 1000); do printf 'RL.ALLOW pipe gcra 1000000000 1h\r\n%.0s' {1..1000}; done) >"$work/million"
if redis-cli -p "${closed[0]}" --user default --pass sesame --no-auth-warning --pipe <"$work/million" >"$work/stdout" 2>&1 &&
	grep -q 'errors: 0, replies: 1000000' "$work/stdout"; then
	passed=$((passed + 1))
else
	failed=$((failed + 1)) ok=no
	echo 'FAILED: redis-cli --pipe'
	cat "$work/stdout"
fi
rows+=("| redis-cli, with --scan, --bigkeys, --memkeys, --hotkeys, --stat, --pipe | $(redis-cli --version | cut -d' ' -f2) | 2, 3 | yes | yes | $([ $ok = yes ] && echo passes || echo FAILS) |")
echo "redis-cli: $ok"

ok=yes
for protocol in '' -3; do
	tool "redis-benchmark $protocol" 'requests per second' redis-benchmark $protocol -p "${open[0]}" -n 20000 -P 16 -r 1000 -q RL.ALLOW key:__rand_int__ gcra 100 1s
	tool "redis-benchmark $protocol -t ping" 'requests per second' redis-benchmark $protocol -p "${open[0]}" -n 20000 -q -t ping
	tool "redis-benchmark $protocol, password" 'requests per second' redis-benchmark $protocol -p "${closed[0]}" --user default -a sesame -n 20000 -q RL.ALLOW k gcra 100 1s
	tool "redis-benchmark $protocol, TLS" 'requests per second' redis-benchmark $protocol -p "${open[1]}" --tls --cacert "$work/ca.crt" -n 5000 -q RL.ALLOW k gcra 100 1s
done
rows+=("| redis-benchmark | $(redis-benchmark --version | cut -d' ' -f2) | 2, 3 | yes | yes | $([ $ok = yes ] && echo passes || echo FAILS) |")
echo "redis-benchmark: $ok"

# The exporter of Debian is a service once it is installed, so it is only unpacked.
ok=yes
fetch() { (cd "$work" && apt-get download -qq prometheus-redis-exporter >/dev/null 2>&1 && dpkg -x prometheus-redis-exporter_*.deb exporter); }
fetch || { [ "$(id -u)" -eq 0 ] && apt-get update -qq && fetch; } || echo 'prometheus-redis-exporter cannot be fetched'
exporter=$work/exporter/usr/bin/prometheus-redis-exporter
scrape='import sys, time, urllib.request
for attempt in range(300):
    try: print(urllib.request.urlopen(sys.argv[1]).read().decode()); break
    except OSError: time.sleep(0.1)'
for way in "${open[0]} " "${closed[0]} sesame"; do
	read -r at password <<<"$way"
	port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	REDIS_PASSWORD=$password "$exporter" -redis.addr "redis://127.0.0.1:$at" -web.listen-address "127.0.0.1:$port" -export-client-list >"$work/exporter.log" 2>&1 &
	pids+=($!)
	for expected in '^redis_up 1$' '^redis_exporter_last_scrape_error{err=""} 0$' '^redis_commands_duration_seconds_total{cmd="rl.allow"} ' '^redis_errors_total{err="ERR"} ' '^redis_connected_clients_details{.*cmd="client|list"'; do
		tool "redis_exporter, password '$password': $expected" "$expected" /usr/bin/python3 -c "$scrape" "http://127.0.0.1:$port/metrics"
	done
	tool "redis_exporter, password '$password': its log" 'Providing metrics' cat "$work/exporter.log"
done
rows+=("| redis_exporter (Prometheus) | $("$exporter" --version 2>&1 | grep -o '[0-9]*\.[0-9]*\.[0-9]*' | head -n 1) | 2 | yes | no | $([ $ok = yes ] && echo passes || echo FAILS) |")
echo "redis_exporter: $ok"
