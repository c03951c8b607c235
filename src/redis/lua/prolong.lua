-- Extend locks by another ttl, but only those that are still ours.
-- KEYS  the locks
-- ARGV  for each: token of the holder, ttl in ms
-- Returns  1 or 0 for each
local replies = {}
for index, lockKey in ipairs(KEYS) do
  local holder = redis.pcall('GET', lockKey)
  -- A missing permission does not show whose lock it is.
  if type(holder) == 'table' and not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  local ours = holder == ARGV[2 * index - 1]
  if ours then redis.call('PEXPIRE', lockKey, ARGV[2 * index]) end
  replies[index] = ours and 1 or 0
end
return replies
