-- Void the load of one token: its lease is gone, whoever waits asks again at once, and the holder is told.
-- KEYS  1 lease
-- ARGV  1 token of the load
-- Returns  {1} if the lease was of that token, {0} if nothing was done
local leaseKey, token = KEYS[1], ARGV[1]
local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'inbox')
if lease.err or lease[1] ~= 'held' or lease[2] ~= token then return {0} end

local fields = redis.call('HKEYS', leaseKey)
redis.call('DEL', leaseKey)
for _, field in ipairs(fields) do
  if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), 'a' .. token) end
end
if lease[3] and lease[3] ~= '' then redis.pcall('PUBLISH', lease[3], 'a' .. token) end
return {1}
