-- A sliding log as it is written for Redis: a sorted set with one member a call, whose
-- score is the call's microsecond.
-- KEYS[1] the key; ARGV: limit, window in seconds. Each call costs 1; the time is Redis's.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
if used >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, limit, 0, math.ceil((oldest[2] + window - now) / 1000)}
end
-- Calls within one microsecond are told apart by how many were there before.
local n = 0
while redis.call('ZADD', KEYS[1], 'NX', now, now .. ':' .. n) == 0 do
  n = n + 1
end
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return {1, limit, limit - used - 1, 0}
