-- Write or delete a value or end its ttl, and void the load of its key, be it under way or failed.
-- KEYS  1 value   2 lease   3 list of processes with copies, if on this server
-- ARGV  1 token of the new value, '' to delete
--       2 payload   3 ttl, ms; 'soft' to end the ttl of the value that there is
--       4 grace, ms; after 'soft' for how long the value may be served at most, '' if its grace alone says
--       5 when it was sent, by this server's clock, ms: freshness counts from there; '' without a new value
--       6 how late it may arrive, ms, '' for ever: later, its sender has given up, and others may have written since
--       7 flags of the value
-- Returns  1, or 0 if it came too late and only deleted; now in microseconds; 1 if a process keeps copies
-- include shared/tell-waiters.lua
local valueKey, leaseKey, token = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox')
local fields = lease.err and {} or redis.call('HKEYS', leaseKey)
redis.call('DEL', leaseKey)

-- The value that there is, stale from now on, and until when; false if it may not be served stale, nil if there is none.
-- Bytes that are no value stay: they may be those of a tag, without which its values are void.
local function softened()
  local value = redis.pcall('GET', valueKey)
  if type(value) ~= 'string' or #value < 48 or string.byte(value) ~= 177 then return nil end
  local freshUntil, staleUntil = struct.unpack('>I6I6', value, 25)
  local grace = staleUntil - freshUntil
  freshUntil = math.min(freshUntil, now)
  staleUntil = math.min(freshUntil + grace, now + (tonumber(ARGV[4]) or grace))
  if grace <= 0 or staleUntil <= now then return false end
  -- Flag 2: no clock, and no wait for the load that wrote it, makes it fresh again.
  local flags = string.byte(value, 2)
  if flags % 4 < 2 then flags = flags + 2 end
  local times = struct.pack('>I6I6', freshUntil, staleUntil)
  return string.char(177, flags) .. string.sub(value, 3, 24) .. times .. string.sub(value, 37), staleUntil
end

local late = token ~= '' and ARGV[6] ~= '' and now - ARGV[5] > tonumber(ARGV[6])
local soft, softUntil
if ARGV[3] == 'soft' then soft, softUntil = softened() end
if soft then
  redis.call('SET', valueKey, soft, 'PX', math.max(softUntil - now, 1000))
elseif token == '' or late then
  if ARGV[3] ~= 'soft' or soft == false then redis.call('DEL', valueKey) end
else
  local version = micros
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if type(header) == 'string' and #header == 48 and string.byte(header) == 177 then
    local before = struct.unpack('>d', header, 37)
    if before >= version and before < 9007199254740992 then version = before + 1 end
  end
  local held = tonumber(lease[3])
  if held and held < 9007199254740992 then version = math.max(version, held + 1) end
  local from = math.min(tonumber(ARGV[5]), now)
  local freshUntil = from + ARGV[3]
  local staleUntil = freshUntil + ARGV[4]
  local value = struct.pack('>BBc16I6I6I6dI4', 177, ARGV[7], token, from, freshUntil, staleUntil, version, 0) .. ARGV[2]
  redis.call('SET', valueKey, value, 'PX', math.max(staleUntil - now, 1000))
end

-- Last, so that a waiter that asks again finds the new value.
if lease[1] == 'held' and lease[2] then
  tellWaiters(fields, 'a' .. lease[2])
  if lease[4] ~= '' then redis.pcall('PUBLISH', lease[4], 'a' .. lease[2]) end
end
return {late and 0 or 1, micros, KEYS[3] and redis.call('PTTL', KEYS[3]) < 0 and 0 or 1}
