<?php
// phpredis, as its own quick start has it, with HOST, PORT, PASSWORD, CA and KEY in the
// environment. It prints the client's version; anything else printed is a fault.
error_reporting(E_ALL);
set_error_handler(function ($no, $text) { fwrite(STDERR, "$text\n"); exit(1); });
const CALLS = 1000;
function expect($is, $what) { if (!$is) { fwrite(STDERR, "$what\n"); exit(1); } }

$key = getenv('KEY');
$client = new Redis();
if (getenv('CA')) {
    $client->connect('tls://localhost', (int) getenv('PORT'), 5, null, 0, 0, ['stream' => ['cafile' => getenv('CA'), 'peer_name' => 'localhost']]);
} else {
    $client->connect(getenv('HOST'), (int) getenv('PORT'), 5);
}
if (getenv('PASSWORD')) {
    expect($client->auth(getenv('PASSWORD')), 'AUTH failed');
}
expect($client->ping(), 'no PONG');
$pipe = $client->multi(Redis::PIPELINE);
for ($i = 0; $i <= CALLS; $i++) {
    $pipe->rawCommand('RL.ALLOW', $key, 'fixed_window', CALLS, '52w');
}
foreach ($pipe->exec() as $i => $d) {
    $want = $i < CALLS ? [1, CALLS, CALLS - 1 - $i] : [0, CALLS, 0];
    expect(array_slice($d, 0, 3) === $want, "call $i is answered " . json_encode($d));
}
expect($client->rawCommand('RL.ALLOW', $key, 'nosuch', 1, '1s') === false, 'a wrong call is no error');
expect(strpos($client->getLastError(), "unknown algorithm 'nosuch'") !== false, (string) $client->getLastError());
$client->close();
echo phpversion('redis'), "\n";
