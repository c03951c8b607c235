-- Extend leases by another lease ttl.
-- KEYS  the leases
-- ARGV  1 inbox of this process, '' if no process may judge by it whether this one lives
--       2 suffix of the channel by which this process is seen, behind its inbox; '' outside a cluster
--       3.. for each key: token, lease ttl in ms
-- Returns  for each key 1 if the lease is ours and renewed, 2 if besides an urgent claim waits for it, 0 if it is not
-- include shared/is-heard.lua
-- include shared/witness.lua
local inbox, suffix = ARGV[1], ARGV[2]
local seenBy = inbox ~= '' and isHeard(inbox .. suffix) and witness(suffix)
local replies = {}
for index, key in ipairs(KEYS) do
  local token, ttl = ARGV[2 * index + 1], ARGV[2 * index + 2]
  local lease = redis.pcall('HMGET', key, 'state', 'token', 'watched', 'renewals', 'suspect', 'urgent')
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  if not lease.err and lease[1] == 'held' and lease[2] == token then
    redis.call('PEXPIRE', key, ttl)
    redis.call('HSET', key, 'renewals', (tonumber(lease[4]) or 0) + 1)
    if lease[5] then redis.call('HDEL', key, 'suspect') end
    if seenBy and lease[3] ~= seenBy then redis.call('HSET', key, 'inbox', inbox, 'watched', seenBy) end
    if lease[3] and not seenBy then redis.call('HDEL', key, 'watched') end
    replies[index] = lease[6] and 2 or 1
  else
    replies[index] = 0
  end
end
return replies
