// The clients of Node.js: ioredis 6 and 5, node-redis 6 and 5, each as its own quick
// start has it. Run as: node client.js ioredis6, with HOST, PORT, PASSWORD, PROTO, CA and
// KEY in the environment. It prints the client's version; anything on standard error is a
// fault.
'use strict';
const fs = require('fs');
const assert = require('assert');

const name = process.argv[2];
const { HOST: host, PORT: port, PASSWORD: password, PROTO: proto, CA: ca, KEY: key } = process.env;
const calls = 1000;

function check(answers) {
  assert.strictEqual(answers.length, calls + 1);
  answers.forEach((d, i) => {
    const want = i < calls ? [1, calls, calls - 1 - i] : [0, calls, 0];
    assert.deepStrictEqual(d.slice(0, 3).map(Number), want, `call ${i + 1}`);
  });
}

async function throughIORedis(Redis) {
  const options = { host, port: Number(port), password: password || undefined };
  if (ca) options.tls = { ca: fs.readFileSync(ca), servername: 'localhost' };
  if (name === 'ioredis6') options.protocol = Number(proto);
  const client = new Redis(options);
  client.on('error', (err) => { console.error('error event:', err); process.exitCode = 1; });
  const pipeline = client.pipeline();
  for (let i = 0; i <= calls; i++) pipeline.call('RL.ALLOW', key, 'fixed_window', calls, '52w');
  const results = await pipeline.exec();
  results.forEach(([err]) => assert.ifError(err));
  check(results.map(([, d]) => d));
  await assert.rejects(client.call('RL.ALLOW', key, 'nosuch', 1, '1s'), /unknown algorithm 'nosuch'/);
  await client.quit();
}

async function throughNodeRedis({ createClient }) {
  const socket = { host, port: Number(port) };
  if (ca) Object.assign(socket, { tls: true, ca: fs.readFileSync(ca), servername: 'localhost' });
  const client = createClient({ socket, password: password || undefined, RESP: Number(proto) });
  client.on('error', (err) => { console.error('error event:', err); process.exitCode = 1; });
  await client.connect();
  const sent = [];
  for (let i = 0; i <= calls; i++) sent.push(client.sendCommand(['RL.ALLOW', key, 'fixed_window', String(calls), '52w']));
  check(await Promise.all(sent));
  await assert.rejects(client.sendCommand(['RL.ALLOW', key, 'nosuch', '1', '1s']), /unknown algorithm 'nosuch'/);
  await client.close();
}

(async () => {
  const library = require(name);
  await (name.startsWith('ioredis') ? throughIORedis(library.default || library) : throughNodeRedis(library));
  console.log(JSON.parse(fs.readFileSync(`${__dirname}/node_modules/${name}/package.json`)).version);
})().catch((err) => { console.error(err); process.exit(1); });
