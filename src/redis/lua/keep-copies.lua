-- A process keeps copies of values: who lets one of them go must tell it, for a while.
-- KEYS  1 whoever keeps copies
-- ARGV  1 inbox of the process   2 for how long, ms   3 token of this command
-- Returns  1; and to the inbox, behind all that it was told before: 'k', the token, and whether it has been told all since the last time
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) or 0
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 10)
redis.call('PUBLISH', ARGV[1], 'k' .. ARGV[3] .. (before > now and '1' or '0'))
return 1
