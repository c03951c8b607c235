-- Read the epoch of the tags of a namespace, for a claim in another slot of a cluster.
-- KEYS  1 epoch
-- Returns  the epoch; if there was none, a new one, less than that of an invalidation at this very moment
local found = redis.call('GET', KEYS[1])
if found then return found end
local time = redis.call('TIME')
local epoch = string.format('%.0f', time[1] * 1000000 + time[2] - 1)
redis.pcall('SET', KEYS[1], epoch, 'PX', 2592000000)
return epoch
