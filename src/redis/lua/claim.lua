-- Claim a key: grant its lease, or enlist the claimer as a waiter if another process holds it. One atomic step per key;
-- several keys in one command, each for itself.
-- KEYS  the epoch of the tags of the namespace, unless that is in another slot of a cluster;
--       then for each: 1 value   2 lease
-- ARGV  number of keys
--       inbox of this process, '' if it has none
--       ms without a subscriber after which the inbox of a holder counts as dead, '' for never
--       description of the holder, '' if none
--       suffix of the channel by which a holder is seen, behind its inbox; '' outside a cluster
--       then for each:
--       1 token of this claim
--       2 lease ttl, ms
--       3 the rest, an object in JSON, '' if all of it is missing, as for most claims:
--         known     token of the value that the caller already has
--         unwanted  tokens of outcomes that are no answer even if their time is not over, separated by spaces
--         awaited   token of the load that the caller waited for: its outcome is the answer even if it has expired
--         context   for the waiters, '' if none
--         urgent    whether callers wait that go before others at a source
-- Returns  for each {state, now in microseconds, ...} or an error; V is the value with its header, '' if the caller has
--          it, false if there is none
--       'fresh',  now, V
--       'lease',  now, fence, V, epoch: false if there is none
--       'wait',   now, token of the holder, ms after which a new claim may win, V, context of the holder
--       'failed', now, the error, V, token of the failed load
--       'pass',   now
-- include shared/each-key.lua
-- include shared/is-heard.lua
-- include shared/tell-waiters.lua
-- include shared/witness.lua
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- Any error but a foreign type, such as a missing permission.
local function isRefused(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end

local inbox, goneAfter, holder, suffix = unpack(ARGV, 2, 5)
local epochKey = #KEYS % 2 == 1 and KEYS[1]

local function claim(KEYS, ARGV)
  local valueKey, leaseKey = KEYS[1], KEYS[2]
  local token, leaseTtl = ARGV[1], ARGV[2]
  local about = ARGV[3] == '' and {} or cjson.decode(ARGV[3])
  local unwanted = about.unwanted or ''

  -- From before the load: an invalidation of a tag from here on has a greater epoch. The first claim of a namespace
  -- creates it, whether or not there are tags yet, so that loads side by side have the same one: the first value with
  -- a tag voids those of loads with an older epoch.
  local function epoch()
    local found = epochKey and redis.pcall('GET', epochKey)
    if found == false then
      found = string.format('%.0f', micros - 1)
      if redis.pcall('SET', epochKey, found, 'PX', 2592000000).err then return false end
    end
    return type(found) == 'string' and found
  end

  -- A foreign type or format counts as no value; the next fill overwrites it.
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if isRefused(header) then return header end
  if type(header) ~= 'string' or #header < 48 or string.byte(header) ~= 177 then header = false end
  -- Garbage may begin like a value. A token is plain text; with any other, no caller could refuse the value by its
  -- name.
  if header and not string.find(string.sub(header, 3, 18), '^[%w_-]+$') then header = false end
  local value = false
  local version = 0
  if header then
    local writer = string.sub(header, 3, 18)
    local isSoftened = string.byte(header, 2) % 4 >= 2
    local freshUntil, staleUntil
    freshUntil, staleUntil, version = struct.unpack('>I6I6d', header, 25)
    -- Not a number, or beyond the whole numbers of a double: garbage that begins like a value.
    if not (version >= 0 and version < 9007199254740992) then version = 0 end
    if not isSoftened and not string.find(unwanted, writer, 1, true) and (writer == about.awaited or freshUntil > now) then
      return {'fresh', micros, redis.call('GET', valueKey)}
    end
    if staleUntil > now then
      value = writer == about.known and '' or redis.call('GET', valueKey)
    end
  end

  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox', 'watched', 'error', 'ttl', 'answers', 'context', 'suspect')
  if isRefused(lease) then return lease end
  -- A foreign type, or a hash without our fields, belongs to no load, and is overwritten.
  if lease.err or not lease[1] or not lease[2] then lease = {} end
  local state, heldToken, heldFence, holderInbox, watched, failure, ttl, answers, context, suspect = unpack(lease, 1, 10)
  local left = redis.call('PTTL', leaseKey)
  local exists = left ~= -2
  local most = tonumber(ttl)
  -- Nothing lasts longer than intended because this server's clock was set back.
  if most and most >= 0 and left > most then
    left = math.floor(most)
    redis.call('PEXPIRE', leaseKey, left)
  end
  if state == 'held' then
    if heldToken == token then return {'lease', micros, heldFence, value, epoch()} end
    -- PTTL is negative: the lease has no expiry, because the script that wrote it did not finish.
    local gone = left < 0
    if not gone and goneAfter ~= '' and watched and holderInbox and watched == witness(suffix) then
      -- The holder may only be reconnecting, so it has a moment to take its name off the lease.
      if isHeard(holderInbox .. suffix) == false then
        local suspectSince = tonumber(suspect)
        if not suspectSince then
          redis.call('HSET', leaseKey, 'suspect', now)
          suspectSince = now
        end
        local wait = suspectSince + goneAfter - now
        gone = wait <= 0
        if wait < left then left = wait end
      elseif suspect then
        redis.call('HDEL', leaseKey, 'suspect')
      end
    end
    if not gone then
      if inbox ~= '' then redis.call('HSET', leaseKey, '>' .. inbox, '') end
      if about.urgent then redis.call('HSET', leaseKey, 'urgent', 1) end
      -- The claimer has waited for this load before. Ask the holder, which releases the lease if its load has ended.
      if inbox ~= '' and heldToken == about.awaited and holderInbox and holderInbox ~= '' then
        redis.pcall('PUBLISH', holderInbox, 'w' .. heldToken .. leaseKey)
      end
      return {'wait', micros, heldToken, left, value, context or ''}
    end
    -- Make the waiters of the replaced holder ask again, and tell the holder, in case it lives.
    tellWaiters(redis.call('HKEYS', leaseKey), 'a' .. heldToken)
    if holderInbox ~= '' then redis.pcall('PUBLISH', holderInbox, 'a' .. heldToken) end
  -- The outcome of the last load: for callers that waited for it, and for all callers for the first `answers` ms.
  elseif most and not string.find(unwanted, heldToken, 1, true)
    and (heldToken == about.awaited or left > most - (tonumber(answers) or most)) then
    if state == 'failed' then return {'failed', micros, failure, value, heldToken} end
    if state == 'pass' then return {'pass', micros} end
  end
  -- Reuse an existing lease key: while its slot moves to another node, a deleted key could not be created again. Delete
  -- fields before adding any: a script that has already written is not refused the rest when memory is full.
  local fields = exists and redis.pcall('HKEYS', leaseKey) or {}
  if fields.err then
    redis.call('DEL', leaseKey)
    fields = {}
  end
  for _, field in ipairs(fields) do
    if field ~= 'state' then redis.call('HDEL', leaseKey, field) end
  end
  -- 16 digits keep every microsecond until the year 2286.
  local fence = string.format('%.0f', math.max(micros, version + 1))
  local written = redis.pcall('HSET', leaseKey, 'state', 'held', 'token', token, 'version', fence, 'inbox', inbox,
    'ttl', leaseTtl, 'since', now, 'holder', holder)
  if type(written) ~= 'table' then written = redis.pcall('PEXPIRE', leaseKey, leaseTtl) end
  if type(written) == 'table' then
    -- Forbidden. Nothing may stay without a token or an expiry.
    redis.call('DEL', leaseKey)
    return written
  end
  if about.context and about.context ~= '' then redis.call('HSET', leaseKey, 'context', about.context) end
  -- The inbox stands for its process only if this server itself sees it subscribed.
  local seenBy = goneAfter ~= '' and inbox ~= '' and isHeard(inbox .. suffix) and witness(suffix)
  if seenBy then redis.call('HSET', leaseKey, 'watched', seenBy) end
  return {'lease', micros, fence, value, epoch()}
end

return eachKey(claim, 2, 3)
