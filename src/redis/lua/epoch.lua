-- The epoch of the tags of a namespace, where it is in another slot of a cluster than what is claimed.
-- KEYS  1 epoch
-- Returns  the epoch; where there is none, less than that of an invalidation that comes at this very moment
local time = redis.call('TIME')
return redis.call('GET', KEYS[1]) or string.format('%.0f', time[1] * 1000000 + time[2] - 1)
