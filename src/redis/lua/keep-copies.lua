-- Put a process with near copies on the list, for a while: writers must tell it which copies to drop.
-- KEYS  1 list of processes with copies
-- ARGV  1 inbox of the process   2 for how long, ms   3 token of this command
-- Returns  1, or the error of a command that is forbidden; and sends the inbox a sign, behind all earlier drops: 's',
--          the token, and the token of the last drop
local last = redis.call('HGET', KEYS[1], 'last')
if not last then
  -- The list is new, or an old one was lost: drops may have been missed.
  last = ARGV[3]
  redis.call('HSET', KEYS[1], 'last', last)
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]))
local expires = redis.pcall('PEXPIRE', KEYS[1], ARGV[2] * 10)
if type(expires) == 'table' then
  -- Forbidden. Nothing may stay without an expiry.
  redis.call('HDEL', KEYS[1], ARGV[1])
  if redis.call('PTTL', KEYS[1]) == -1 then redis.call('DEL', KEYS[1]) end
  return expires
end
redis.call('PUBLISH', ARGV[1], 's' .. ARGV[3] .. last)
return 1
