-- Void all values with one of these tags, or end their ttl; and void those whose loads are under way.
-- KEYS  1 epoch   2 list of processes with copies   3.. tags
-- ARGV  1 shortest memory of a tag's invalidation, ms   2 'hard', or 'soft' to end the ttl only
--       3 after 'soft' for how long the values may be served at most, ms; '' if their grace alone says
-- Returns  1 if a process keeps copies, 0 if not
-- include shared/counted.lua
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
epoch = string.format('%.0f', math.max(time[1] * 1000000 + time[2], epoch + 1))
redis.call('SET', KEYS[1], epoch, 'PX', 2592000000)
for index = 3, #KEYS do
  local epochs = epoch
  if ARGV[2] == 'soft' then
    -- Keep the epoch that voids values. A tag that is missing may have voided some, and so voids all.
    local hard, soft, within = string.match(redis.call('GET', KEYS[index]) or '', '^(%d+) ?(%d*) ?(%d*)')
    local most = tonumber(ARGV[3])
    -- The values that the last soft one concerned are gone at their time, whatever this one says.
    local left = tonumber(within) and math.floor((soft - epoch) / 1000 + within)
    if left and left <= 0 then hard = soft end
    if left and left > 0 then most = math.min(most or left, left) end
    if hard then epochs = hard .. ' ' .. epoch .. (most and string.format(' %.0f', most) or '') end
  end
  redis.call('SET', KEYS[index], epochs, 'PX', math.max(redis.call('PTTL', KEYS[index]), ARGV[1]))
end
return redis.call('PTTL', KEYS[2]) < 0 and 0 or 1
