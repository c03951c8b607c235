-- Give a lock back, or a place in its queue; if it is free then, the next in the queue is told.
-- KEYS  1 lock   2 queue   3 places
-- ARGV  1 what the holder calls itself, '' if it does not hold it
--       2 who gives its place in the queue up, '' for nobody
--       3 present in a cluster, where this server does not know all who listen
-- Returns  1 if the lock was ours, 0 if it was not
local lockKey, queueKey, placesKey = KEYS[1], KEYS[2], KEYS[3]
-- For so many ms the next one keeps its place once it has been told: `placeKeptOnceTold` of core/lock-provider.ts.
local placeKeptOnceTold = 250
local holder = redis.call('GET', lockKey)
local ours = 0
-- Whoever has not heard that it was granted the lock does not know whether its inbox stands behind its token.
if ARGV[1] ~= '' and holder and (holder == ARGV[1] or string.sub(holder, 1, #ARGV[1] + 1) == ARGV[1] .. '@') then
  redis.call('DEL', lockKey)
  holder = false
  ours = 1
end
if ARGV[2] ~= '' then
  redis.call('ZREM', queueKey, ARGV[2])
  redis.call('ZREM', placesKey, ARGV[2])
end
if holder or ARGV[1] ~= '' and ours == 0 then return ours end

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
