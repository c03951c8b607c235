-- Sends a message to the waiters among the fields of a lease. A process without permission to publish can still load:
-- the waiters will ask.
local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
