-- Request a lock: grant it, or take a place in the queue if another holder has it. One atomic step.
-- KEYS  1 lock: token of its holder   2 fence   3 queue: the waiters, by the time of their first request
--       4 places: until when each waiter keeps its place
--       5 suspect: since when the holder's inbox is silent; absent if no holder may be replaced
-- ARGV  1 requester: the token of this request, followed by the inbox of its process, if it has one
--       2 ttl, ms
--       3 how it waits: 'fair', 'any' or 'no'
--       4 the requester as it is in the queue if its inbox has come or gone since; absent if it has none
-- Returns  {1, token of the holder as stored, fence}
--          {0, ms after which a new request may win, -1 if only the holder knows, 1 if a message will tell}
-- include shared/is-heard.lua
local lockKey, fenceKey, queueKey, placesKey, suspectKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local me, ttl, waits, other = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local token, inbox = string.sub(me, 1, 16), string.sub(me, 17)
-- How long the inbox of a holder must be silent before the holder is replaced, ms.
local goneAfter = 50
-- How long a waiter keeps its place without a request, ms: `placeKept` of core/contract/lock-backend.ts.
local placeKept = 5000
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local function nextFence()
  -- For a day, so that no key stays for ever; after that, the clock alone makes the fence grow.
  local life = math.max(86400000, 2 * ttl)
  -- 16 digits keep every microsecond until the year 2286.
  local fence = string.format('%.0f', micros)
  local last = tonumber(redis.call('SET', fenceKey, fence, 'PX', life, 'GET') or 0) or 0
  -- A foreign text, or a number too large to be counted on, is dropped.
  if last >= micros and last < 9007199254740991 then
    fence = string.format('%.0f', last + 1)
    redis.call('SET', fenceKey, fence, 'PX', life)
  end
  return fence
end

local holder = redis.call('GET', lockKey)
if holder and string.sub(holder, 1, 16) == token then
  return {1, holder, redis.call('GET', fenceKey) or nextFence()}
end

local left = holder and redis.call('PTTL', lockKey) or 0
local suspected = false
-- A holder that may be replaced has its inbox behind its token.
local address = holder and suspectKey and string.match(holder, '^' .. string.rep('.', 16) .. '@(.+)$')
if address then
  if isHeard(address) == false then
    -- The holder may only be reconnecting, so it has a moment.
    local since = redis.call('GET', suspectKey)
    if not since then
      redis.call('SET', suspectKey, now, 'PX', 10000)
      since = now
    end
    local rest = since + goneAfter - now
    if rest <= 0 then
      redis.call('DEL', lockKey, suspectKey)
      -- Tell the holder, in case it lives.
      redis.pcall('PUBLISH', address, 'a' .. string.sub(holder, 1, 16))
      holder = false
    else
      suspected = true
      if left < 0 or rest < left then left = rest end
    end
  else
    redis.call('DEL', suspectKey)
  end
end

local first = redis.call('ZRANGE', queueKey, 0, 0)[1]
local gone = {}
if first then
  -- Remove the waiters that have not requested for so long: they are gone.
  gone = redis.call('ZRANGEBYSCORE', placesKey, '-inf', now)
  if #gone > 0 then
    for _, each in ipairs(gone) do redis.call('ZREM', queueKey, each) end
    redis.call('ZREMRANGEBYSCORE', placesKey, '-inf', now)
    first = redis.call('ZRANGE', queueKey, 0, 0)[1]
  end
  local since = other and redis.call('ZSCORE', queueKey, other)
  if since then
    redis.call('ZREM', queueKey, other)
    redis.call('ZREM', placesKey, other)
    redis.call('ZADD', queueKey, since, me)
    if first == other then first = me end
  end
  -- Where dead holders are replaced, nobody waits for dead waiters.
  while suspectKey and waits == 'fair' and not holder and first and first ~= me and #first > 16
    and isHeard(string.sub(first, 17)) == false do
    redis.call('ZREM', queueKey, first)
    redis.call('ZREM', placesKey, first)
    gone[#gone + 1] = first
    first = redis.call('ZRANGE', queueKey, 0, 0)[1]
  end
end

if not holder then
  if waits ~= 'fair' or not first or first == me then
    if first then
      redis.call('ZREM', queueKey, me)
      redis.call('ZREM', placesKey, me)
    end
    -- The suspicion was of the last holder.
    if suspectKey then redis.call('DEL', suspectKey) end
    local name = token
    -- The inbox stands for its process only if this server itself sees it subscribed.
    if suspectKey and inbox ~= '' and isHeard(inbox) then name = token .. '@' .. inbox end
    redis.call('SET', lockKey, name, 'PX', ttl)
    return {1, name, nextFence()}
  end
  -- The first waiter has been told. If that was a waiter that is gone now, the next one has not been told yet.
  if #gone > 0 then redis.pcall('PUBLISH', string.sub(first, 17), 't' .. string.sub(first, 1, 16)) end
end
if waits ~= 'no' then
  redis.call('ZADD', queueKey, 'NX', string.format('%.0f', micros), me)
  redis.call('ZADD', placesKey, now + placeKept, me)
  redis.call('PEXPIRE', queueKey, 2 * placeKept)
  redis.call('PEXPIRE', placesKey, 2 * placeKept)
  -- Only the first waiter need ask when the holder's lease ends: the others come after it. It may be as dead as the holder.
  if first and first ~= me and not suspected then left = -1 end
end
-- A holder that uses the plain recipe (`SET NX PX`) sends no message.
local tells = not holder or string.find(holder, '^[%w_-]+$') and #holder == 16 or address or string.find(holder, '^[%w_-]+@herdless:')
return {0, left, tells and 1 or 0}
