-- Ask for a key and perhaps win its lease, in one step; enlist for the outcome if somebody else holds it. For several
-- keys at once, each for itself.
-- KEYS  for each: 1 value   2 lease   3 epoch of the tags of its namespace, unless that is in another slot of a cluster
-- ARGV  how many, then for each:
--       1 token of this claim
--       2 inbox of this process, '' if it has none
--       3 lease ttl, ms
--       4 token of the value that the caller has already, '' if none
--       5 token of a value that is to be replaced even if it is fresh, '' if none
--       6 token of the load that the caller waits for, '' if none: what came of it is the answer, whatever its time
--       7 ms that the inbox of a holder must have been without a subscriber before it may be replaced, '' for never
--       8 what the holder says of itself, '' if nothing
--       9 what those who wait are to be given, '' if nothing
-- Returns  for each {state, now in microseconds, ...} or an error; V is the value with its header, '' if it is the caller's own, false if none
--       'fresh',  now, V
--       'lease',  now, fence, V, epoch: false if there is none
--       'wait',   now, token of the holder, ms after which asking again may win, V, what the holder gives those who wait
--       'failed', now, the error, V
--       'pass',   now
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- Forbidden, or whatever else there may be: not that a key is of another type.
local function isRefused(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end

local function claim(KEYS, ARGV)
  local valueKey, leaseKey = KEYS[1], KEYS[2]
  local token, inbox, known, unwanted, awaited = ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6]
  local goneAfter = ARGV[7]

  -- Before the load begins: an invalidation of a tag from here on is greater.
  local function epoch()
    local found = KEYS[3] and redis.pcall('GET', KEYS[3])
    return type(found) == 'string' and found
  end

  -- A foreign type or a foreign format counts as no value; it is overwritten by the next fill.
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if isRefused(header) then return header end
  if type(header) ~= 'string' or #header < 48 or string.byte(header) ~= 177 then header = false end
  -- Garbage may begin like a value; a token is plain text, and any other could not be named by those who refuse it.
  if header and not string.find(string.sub(header, 3, 18), '^[%w_-]+$') then header = false end
  local value = false
  local version = 0
  if header then
    local writer = string.sub(header, 3, 18)
    local freshUntil, staleUntil
    freshUntil, staleUntil, version = struct.unpack('>I6I6d', header, 25)
    -- Not a number, or beyond what a double counts by ones: garbage that happens to begin like a value.
    if not (version >= 0 and version < 9007199254740992) then version = 0 end
    if writer ~= unwanted and (writer == awaited or freshUntil > now) then
      return {'fresh', micros, redis.call('GET', valueKey)}
    end
    if staleUntil > now then
      value = writer == known and '' or redis.call('GET', valueKey)
    end
  end

  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox', 'watched', 'error', 'ttl', 'answers', 'context')
  if isRefused(lease) then return lease end
  -- Of another type, or without what each of ours has: it is nobody's, and is overwritten.
  if lease.err or not lease[1] or not lease[2] then lease = {} end
  local left = redis.call('PTTL', leaseKey)
  local exists = left ~= -2
  local most = tonumber(lease[7])
  -- Nothing lasts longer than it was meant to because this server's clock was set back.
  if most and most >= 0 and left > most then
    left = math.floor(most)
    redis.call('PEXPIRE', leaseKey, left)
  end
  -- What does not expire was left by a script that was not allowed to finish.
  if lease[1] == 'held' then
    if lease[2] == token then return {'lease', micros, lease[3], value, epoch()} end
    local gone = left < 0
    if not gone and goneAfter ~= '' and lease[5] then
      -- Redis knows no dead clients, but it knows that nobody listens to the holder's inbox any more. The holder may
      -- only be reconnecting: it is given a moment to say so.
      local listeners = redis.pcall('PUBSUB', 'NUMSUB', lease[4])
      if not listeners.err and listeners[2] == 0 then
        local suspectSince = tonumber(redis.call('HGET', leaseKey, 'suspect'))
        if not suspectSince then
          redis.call('HSET', leaseKey, 'suspect', now)
          suspectSince = now
        end
        local wait = suspectSince + goneAfter - now
        gone = wait <= 0
        if wait < left then left = wait end
      else
        redis.call('HDEL', leaseKey, 'suspect')
      end
    end
    if not gone then
      if inbox ~= '' then redis.call('HSET', leaseKey, '>' .. inbox, '') end
      -- It has been waited for before: its holder is asked, and gives it back if it knows that the load has ended.
      if inbox ~= '' and lease[2] == awaited and lease[4] and lease[4] ~= '' then
        redis.pcall('PUBLISH', lease[4], 'w' .. awaited .. leaseKey)
      end
      return {'wait', micros, lease[2], left, value, lease[9]}
    end
    -- Those who wait for the holder that is replaced are told to ask again; so is the holder, should it live.
    local fields = redis.call('HKEYS', leaseKey)
    for _, field in ipairs(fields) do
      if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), 'a' .. lease[2]) end
    end
    if lease[4] ~= '' then redis.pcall('PUBLISH', lease[4], 'a' .. lease[2]) end
  elseif most and (lease[2] == awaited or left > most - (tonumber(lease[8]) or most)) then
    if lease[1] == 'failed' then return {'failed', micros, lease[6], value} end
    if lease[1] == 'pass' then return {'pass', micros} end
  end
  -- A lease that is there becomes ours: while its slot moves to another node, a key that is deleted could not be made
  -- again. What goes, goes first: a script that has written already is not refused the rest when memory is full.
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
  redis.call('HSET', leaseKey, 'state', 'held', 'token', token, 'version', fence, 'inbox', inbox, 'ttl', ARGV[3],
    'since', now, 'holder', ARGV[8])
  if ARGV[9] ~= '' then redis.call('HSET', leaseKey, 'context', ARGV[9]) end
  local expires = redis.pcall('PEXPIRE', leaseKey, ARGV[3])
  if type(expires) == 'table' then
    -- Forbidden. Nothing must stay that never expires.
    redis.call('DEL', leaseKey)
    return expires
  end
  -- The inbox speaks for its process only where this very server sees it subscribed.
  if goneAfter ~= '' and inbox ~= '' then
    local listeners = redis.pcall('PUBSUB', 'NUMSUB', inbox)
    if not listeners.err and listeners[2] > 0 then redis.call('HSET', leaseKey, 'watched', '1') end
  end
  return {'lease', micros, fence, value, epoch()}
end

-- Each for itself: what goes wrong with one is the answer to that one.
local many = tonumber(ARGV[1])
local keys, args = #KEYS / many, (#ARGV - 1) / many
local answers = {}
local bad = 0
for each = 0, many - 1 do
  local good, answer = pcall(
    claim,
    {unpack(KEYS, each * keys + 1, (each + 1) * keys)},
    {unpack(ARGV, each * args + 2, (each + 1) * args + 1)}
  )
  if not good then answer = {err = type(answer) == 'table' and answer.err or tostring(answer)} end
  if answer.err then bad = bad + 1 end
  answers[each + 1] = answer
end
-- An error that is that of all must be seen as one: a client may reconnect because of it.
return bad == many and answers[1] or answers
