-- End a load with a value: write it, delete the lease, wake the waiters; but only if the lease still has the token.
-- Several keys in one command, each for itself.
-- KEYS  for each: 1 value   2 lease
-- ARGV  number of keys, then for each:
--       1 token of the load
--       2 payload
--       3 the rest, a list in JSON: ttl, ms; grace, ms; when it was sent, by this server's clock, ms (freshness counts
--         from there, however late it arrives); load time, ms; largest payload that travels in the message, bytes;
--         flags of the value
-- Returns  for each {1, now in microseconds} if the value is in place, {0, now} if the lease was lost and nothing was
--          written, or an error
-- include shared/each-key.lua
-- include shared/tell-waiters.lua
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local function fill(KEYS, ARGV)
  local valueKey, leaseKey, token, payload = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version')
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  if lease.err or lease[1] ~= 'held' or lease[2] ~= token then
    -- The command may have been sent twice because its reply was lost.
    local writer = redis.pcall('GETRANGE', valueKey, 2, 17)
    return {writer == token and 1 or 0, micros}
  end

  local ttl, grace, sentAt, loadTime, longestInline, flags = unpack(cjson.decode(ARGV[3]))
  local from = math.min(sentAt, now)
  local freshUntil = from + ttl
  local staleUntil = freshUntil + grace
  local version = tonumber(lease[3]) or 0
  local value = struct.pack('>BBc16I6I6I6dI4', 177, flags, token, from, freshUntil, staleUntil, version, loadTime) .. payload
  -- Keep it for a second at least, even if it may not be served: a waiter may still be on its way to read it.
  redis.call('SET', valueKey, value, 'PX', math.max(staleUntil - now, 1000))

  local fields = redis.call('HKEYS', leaseKey)
  redis.call('DEL', leaseKey)
  tellWaiters(fields, #payload <= longestInline and 'v' .. token .. value or 'r' .. token)
  return {1, micros}
end

return eachKey(fill, 2, 3)
