-- A process keeps copies of values: who lets one of them go must tell it, for a while.
-- KEYS  1 whoever keeps copies
-- ARGV  1 inbox of the process   2 for how long, ms   3 token of this command
-- Returns  1; and to the inbox, behind all that it was told before: 's', the token, and that of the last change that was told
local last = redis.call('HGET', KEYS[1], 'last')
if not last then
  -- The list is new, or an old one was lost: whatever was told before, something may have been missed.
  last = ARGV[3]
  redis.call('HSET', KEYS[1], 'last', last)
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 10)
redis.call('PUBLISH', ARGV[1], 's' .. ARGV[3] .. last)
return 1
