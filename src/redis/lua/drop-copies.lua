-- Tell all processes to drop near copies.
-- KEYS  1 list of processes with copies
-- ARGV  1 token of this command   2 the drop   3 longest time in which a process may serve copies without a sign, ms
-- Returns  longest time in which a process may still serve such a copy, ms; the inboxes that must acknowledge. They are
--          sent 'd', the token, the token of the drop before it, and the drop
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.pcall('HKEYS', KEYS[1])
if fields.err or #fields == 0 then return {0, {}} end
local message = 'd' .. ARGV[1] .. (redis.call('HGET', KEYS[1], 'last') or ARGV[1]) .. ARGV[2]
-- Without free memory, remove the field instead: then all copies are dropped with the next sign.
if type(redis.pcall('HSET', KEYS[1], 'last', ARGV[1])) == 'table' then redis.call('HDEL', KEYS[1], 'last') end
local longest = 0
local told = {}
for _, inbox in ipairs(fields) do
  if inbox ~= 'last' then
    local left = (tonumber(redis.call('HGET', KEYS[1], inbox) or 0) or 0) - now
    -- Also to an inbox whose time is over: its process may serve copies again.
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
