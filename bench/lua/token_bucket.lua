-- A token bucket as it is written for Redis: what Sluice is compared with.
-- KEYS[1] the key; ARGV: limit, window in seconds, cost. The bucket holds
-- `limit` tokens and earns limit/window a second; the time is Redis's.
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]), tonumber(state[2])
if tokens == nil then
  tokens, at = limit, now
end
tokens = math.min(limit, tokens + math.max(0, now - at) * limit / window)
local allowed = 0
if tokens >= cost then
  tokens = tokens - cost
  allowed = 1
  redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
  redis.call('PEXPIRE', KEYS[1], math.ceil((limit - tokens) * window / limit * 1000))
end
local wait = 0
if allowed == 0 then
  wait = math.ceil((cost - tokens) * window / limit * 1000)
end
return {allowed, limit, math.floor(tokens), wait}
