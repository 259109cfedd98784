"""redis-py, as its own quick start has it, with HOST, PORT, PASSWORD, CA and KEY in the
environment. It prints the client's version; anything on standard error is a fault."""
import os

import redis

CALLS = 1000
key = os.environ["KEY"]
options = {"host": os.environ["HOST"], "port": int(os.environ["PORT"]), "password": os.environ["PASSWORD"] or None}
if os.environ["CA"]:
    options.update(ssl=True, ssl_ca_certs=os.environ["CA"])
client = redis.Redis(**options)
assert client.ping()
pipe = client.pipeline(transaction=False)
for _ in range(CALLS + 1):
    pipe.execute_command("RL.ALLOW", key, "fixed_window", CALLS, "52w")
for i, d in enumerate(pipe.execute()):
    want = [1, CALLS, CALLS - 1 - i] if i < CALLS else [0, CALLS, 0]
    assert d[:3] == want, (i, d)
with client.pipeline(transaction=True) as together:
    together.execute_command("RL.PEEK", key, "fixed_window", CALLS, "52w")
    together.exists(key)
    answers = together.execute()
    assert answers[0][2] == 0 and answers[1] == 1, answers
try:
    client.execute_command("RL.ALLOW", key, "nosuch", 1, "1s")
    raise AssertionError("a wrong call is no error")
except redis.ResponseError as error:
    assert "unknown algorithm 'nosuch'" in str(error), error
client.close()
print(redis.__version__)
