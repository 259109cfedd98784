-- A fixed window as it is written for Redis: a counter a window, which expires with it.
-- KEYS[1] the key; ARGV: limit, window in seconds, cost. Windows are aligned to the Unix
-- epoch; the time is Redis's.
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local number = math.floor(now / window)
local rest = math.ceil(((number + 1) * window - now) * 1000)
local key = KEYS[1] .. ':' .. number
local count = tonumber(redis.call('GET', key) or '0')
if count + cost > limit then
  return {0, limit, math.max(0, limit - count), rest}
end
count = redis.call('INCRBY', key, cost)
if count == cost then
  redis.call('PEXPIRE', key, rest)
end
return {1, limit, limit - count, 0}
