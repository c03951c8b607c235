-- Whether a channel has a subscriber, as far as this server sees; nil if it may not say. Redis reports no dead clients.
local function isHeard(channel)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if not listeners.err then return listeners[2] > 0 end
end
