-- Have all processes let copies of values go.
-- KEYS  1 whoever keeps copies
-- ARGV  1 message to them   2 for how long a process is told, ms
-- Returns  until the last of them may serve what it has not heard of, ms; then those of them who must say that they have heard
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = 0
local told = {}
local inboxes = redis.pcall('HKEYS', KEYS[1])
for _, inbox in ipairs(inboxes.err and {} or inboxes) do
  local left = (tonumber(redis.call('HGET', KEYS[1], inbox) or 0) or 0) - now
  -- Also one that may not serve them any more: it may do so again.
  redis.pcall('PUBLISH', inbox, ARGV[1])
  if left > 0 then
    last = math.max(last, math.min(left, tonumber(ARGV[2])))
    table.insert(told, inbox)
  elseif left < -10 * ARGV[2] then
    redis.call('HDEL', KEYS[1], inbox)
  end
end
return {last, unpack(told)}
