-- Read the epoch of the tags of a namespace, for a claim in another slot of a cluster.
-- KEYS  1 epoch
-- Returns  the epoch; if there is none, less than that of an invalidation at this very moment
local time = redis.call('TIME')
return redis.call('GET', KEYS[1]) or string.format('%.0f', time[1] * 1000000 + time[2] - 1)
