-- See to it that the tags of a value are there for as long as it is, before it is written.
-- KEYS  1 epoch   2.. tags: each the epoch of its last invalidation, or of the first value that had it
-- ARGV  1 epoch of when the load of the value began, '' for a value of this moment   2 how long the value lives, ms
-- Returns  the epoch of the value, false if a tag was invalidated since
-- What is no number of ours, or too large to be counted on, is as good as none.
local function counted(text)
  local number = tonumber(text or 0)
  return number and number < 9007199254740991 and number or 0
end
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
local latest = epoch > 0 and epoch or time[1] * 1000000 + time[2]
local newest = 0
for index = 2, #KEYS do
  newest = math.max(newest, counted(redis.call('GET', KEYS[index])))
end
local since = tonumber(ARGV[1]) or math.max(latest, newest)
if newest > since then return false end
local digits = string.format('%.0f', since)
-- Whatever is invalidated later must be greater, also after the clock of this server was set back.
if epoch < since then redis.call('SET', KEYS[1], digits, 'PX', 2592000000) end
for index = 2, #KEYS do
  local left = redis.call('PTTL', KEYS[index])
  if left == -2 then
    redis.call('SET', KEYS[index], digits, 'PX', ARGV[2])
  elseif left < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[index], ARGV[2])
  end
end
return digits
