-- Release leases without an outcome: their waiters ask again at once. Several keys in one command, each for itself.
-- KEYS  the leases
-- ARGV  number of keys, then for each:
--       1 token of the load
--       2 'tell' to tell the holder that the lease is void, '' if it knows
-- Returns  for each 1 if the lease had that token, 0 if it had not and nothing was done
-- include shared/tell-waiters.lua
local replies = {}
for each, leaseKey in ipairs(KEYS) do
  local token, tell = ARGV[2 * each], ARGV[2 * each + 1]
  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'inbox')
  -- A missing permission does not show whether the lease is there.
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  replies[each] = 0
  if not lease.err and lease[1] == 'held' and lease[2] == token then
    local fields = redis.call('HKEYS', leaseKey)
    redis.call('DEL', leaseKey)
    tellWaiters(fields, 'a' .. token)
    if tell ~= '' and lease[3] and lease[3] ~= '' then redis.pcall('PUBLISH', lease[3], 'a' .. token) end
    replies[each] = 1
  end
end
return replies
