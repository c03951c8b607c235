-- End a load without a value: with an error or with "do not queue", which is the answer for a while.
-- KEYS  1 lease
-- ARGV  1 token of the load
--       2 'failed' or 'pass'
--       3 the error, '' if none
--       4 how long it is the answer to new callers, ms; 0 for not at all
-- Returns  {1} if the lease was ours, {0} if it was lost and nothing was done
-- include shared/tell-waiters.lua
local leaseKey, token, state = KEYS[1], ARGV[1], ARGV[2]
local lease = redis.pcall('HMGET', leaseKey, 'state', 'token')
if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
if lease.err or lease[2] ~= token then return {0} end
-- The command may have been sent twice because its reply was lost.
if lease[1] ~= 'held' then return {1} end

local fields = redis.call('HKEYS', leaseKey)
tellWaiters(fields, string.sub(state, 1, 1) .. token .. ARGV[3])
-- Keep the token for a second at least, even if it is no answer any more: the command may arrive again.
local ttl = math.max(tonumber(ARGV[4]), 1000)
-- Keep the key at all times: while its slot moves to another node, a deleted key could not be created again. Delete
-- fields before adding any: a script that has already written is not refused the rest when memory is full.
for _, field in ipairs(fields) do
  if field ~= 'state' then redis.call('HDEL', leaseKey, field) end
end
local written = redis.pcall('HSET', leaseKey, 'state', state, 'token', token, 'error', ARGV[3], 'ttl', ttl, 'answers', ARGV[4])
if type(written) ~= 'table' then written = redis.pcall('PEXPIRE', leaseKey, ttl) end
if type(written) == 'table' then
  -- Forbidden. Nothing may stay without a token or an expiry.
  redis.call('DEL', leaseKey)
  return written
end
return {1}
