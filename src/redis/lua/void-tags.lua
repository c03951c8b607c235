-- Void all values that have one of these tags, and those whose loads are under way.
-- KEYS  1 epoch   2 whoever keeps copies   3.. tags
-- ARGV  1 how long a tag remembers it at least, ms
-- Returns  whether somebody keeps copies
-- What is no number of ours, or too large to be counted on, is as good as none.
local function counted(text)
  local number = tonumber(text or 0)
  return number and number < 9007199254740991 and number or 0
end
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
epoch = string.format('%.0f', math.max(time[1] * 1000000 + time[2], epoch + 1))
redis.call('SET', KEYS[1], epoch, 'PX', 2592000000)
for index = 3, #KEYS do
  redis.call('SET', KEYS[index], epoch, 'PX', math.max(redis.call('PTTL', KEYS[index]), ARGV[1]))
end
return redis.call('PTTL', KEYS[2]) < 0 and 0 or 1
