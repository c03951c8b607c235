-- Give leases up without an outcome: those who wait ask again at once. For several keys at once, each for itself.
-- KEYS  the leases
-- ARGV  how many, then for each:
--       1 token of the load
--       2 'tell' if its holder is to be told that the lease is void, '' if it knows
-- Returns  for each 1 if the lease was of that token, 0 if it was not, and nothing was done
local answers = {}
for each, leaseKey in ipairs(KEYS) do
  local token, tell = ARGV[2 * each], ARGV[2 * each + 1]
  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'inbox')
  -- It may be there: what is forbidden says nothing.
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  answers[each] = 0
  if not lease.err and lease[1] == 'held' and lease[2] == token then
    local fields = redis.call('HKEYS', leaseKey)
    redis.call('DEL', leaseKey)
    -- A process that may not publish still loads: the others will ask.
    for _, field in ipairs(fields) do
      if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), 'a' .. token) end
    end
    if tell ~= '' and lease[3] and lease[3] ~= '' then redis.pcall('PUBLISH', lease[3], 'a' .. token) end
    answers[each] = 1
  end
end
return answers
