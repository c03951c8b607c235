-- Have all processes let copies of values go.
-- KEYS  1 whoever keeps copies
-- ARGV  1 token of this command   2 what goes   3 for how long a process is told, ms
-- Returns  until the last of them may serve what it has not heard of, ms; and a list of those who must say that they have
--          heard: they are told 'd', the token, that of the change told before it, and what goes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.pcall('HKEYS', KEYS[1])
if fields.err or #fields == 0 then return {0, {}} end
local message = 'd' .. ARGV[1] .. (redis.call('HGET', KEYS[1], 'last') or ARGV[1]) .. ARGV[2]
-- Where no memory is left it is taken off the list instead: then all copies go with the next sign.
if type(redis.pcall('HSET', KEYS[1], 'last', ARGV[1])) == 'table' then redis.call('HDEL', KEYS[1], 'last') end
local longest = 0
local told = {}
for _, inbox in ipairs(fields) do
  if inbox ~= 'last' then
    local left = (tonumber(redis.call('HGET', KEYS[1], inbox) or 0) or 0) - now
    -- Also one that may not serve them any more: it may do so again.
    redis.pcall('PUBLISH', inbox, message)
    if left > 0 then
      longest = math.max(longest, math.min(left, tonumber(ARGV[3])))
      table.insert(told, inbox)
    elseif left < -10 * ARGV[3] then
      redis.call('HDEL', KEYS[1], inbox)
    end
  end
end
return {longest, told}
