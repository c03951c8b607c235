-- Write or delete a value, and void the load of its key, be it under way or failed.
-- KEYS  1 value   2 lease   3 list of processes with copies, if on this server
-- ARGV  1 token of the new value, '' to delete
--       2 payload   3 ttl, ms   4 grace, ms
--       5 when it was sent, by this server's clock, ms, '' if not known: freshness counts from there
--       6 how late it may arrive, ms, '' for ever: later, its sender has given up, and others may have written since
--       7 flags of the value
-- Returns  1, or 0 if it came too late and only deleted; now in microseconds; 1 if a process keeps copies
local valueKey, leaseKey, token = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox')
local fields = lease.err and {} or redis.call('HKEYS', leaseKey)
redis.call('DEL', leaseKey)

local late = token ~= '' and ARGV[5] ~= '' and ARGV[6] ~= '' and now - ARGV[5] > tonumber(ARGV[6])
if token == '' or late then
  redis.call('DEL', valueKey)
else
  local version = micros
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if type(header) == 'string' and #header == 48 and string.byte(header) == 177 then
    local before = struct.unpack('>d', header, 37)
    if before >= version and before < 9007199254740992 then version = before + 1 end
  end
  local held = tonumber(lease[3])
  if held and held < 9007199254740992 then version = math.max(version, held + 1) end
  local from = math.min(tonumber(ARGV[5]) or now, now)
  local freshUntil = from + ARGV[3]
  local staleUntil = freshUntil + ARGV[4]
  local value = struct.pack('>BBc16I6I6I6dI4', 177, ARGV[7], token, from, freshUntil, staleUntil, version, 0) .. ARGV[2]
  redis.call('SET', valueKey, value, 'PX', math.max(staleUntil - now, 1000))
end

-- Last, so that a waiter that asks again finds the new value.
if lease[1] == 'held' and lease[2] then
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), 'a' .. lease[2]) end
  end
  if lease[4] ~= '' then redis.pcall('PUBLISH', lease[4], 'a' .. lease[2]) end
end
return {late and 0 or 1, micros, KEYS[3] and redis.call('PTTL', KEYS[3]) < 0 and 0 or 1}
