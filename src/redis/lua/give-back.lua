-- Release a lock, or a place in its queue. If the lock is free then, tell the first waiter in the queue.
-- KEYS  1 lock   2 queue   3 places
-- ARGV  1 token of the holder, '' if the lock is not to be released
--       2 waiter that leaves the queue, '' for none
--       3 present in a cluster, where this server does not know all subscribers
-- Returns  1 if the lock was ours, 0 if it was not
local lockKey, queueKey, placesKey = KEYS[1], KEYS[2], KEYS[3]
-- How long the first waiter keeps its place once told, ms: `placeKeptOnceTold` of core/contract/lock-backend.ts.
local placeKeptOnceTold = 250
local holder = redis.call('GET', lockKey)
local ours = 0
-- A process whose grant was lost does not know whether its inbox follows its token.
if ARGV[1] ~= '' and holder and (holder == ARGV[1] or string.sub(holder, 1, #ARGV[1] + 1) == ARGV[1] .. '@') then
  redis.call('DEL', lockKey)
  holder = false
  ours = 1
end
if ARGV[2] ~= '' then
  redis.call('ZREM', queueKey, ARGV[2])
  redis.call('ZREM', placesKey, ARGV[2])
end
if holder or (ARGV[1] ~= '' and ours == 0) then return ours end

local first = redis.call('ZRANGE', queueKey, 0, 0)[1]
if not first then return ours end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
while first do
  local place = tonumber(redis.call('ZSCORE', placesKey, first) or 0)
  local heard = 1
  if place > now then
    heard = redis.pcall('PUBLISH', string.sub(first, 17), 't' .. string.sub(first, 1, 16))
    if type(heard) == 'table' then heard = 1 end
  end
  if place > now and (heard > 0 or ARGV[3] or string.len(first) == 16) then
    redis.call('ZADD', placesKey, math.min(place, now + placeKeptOnceTold), first)
    break
  end
  redis.call('ZREM', queueKey, first)
  redis.call('ZREM', placesKey, first)
  first = redis.call('ZRANGE', queueKey, 0, 0)[1]
end
return ours
