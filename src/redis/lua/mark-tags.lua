-- Make sure that the epochs of a value's tags exist as long as the value, before it is written.
-- KEYS  1 epoch   2.. tags: each the epoch of its last invalidation, or of the first value with it
-- ARGV  1 epoch at which the load of the value began, '' for a value of this moment   2 life of the value, ms
-- Returns  the epoch of the value, false if a tag was invalidated since
-- include shared/counted.lua
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
local latest = epoch > 0 and epoch or time[1] * 1000000 + time[2]
local newest = 0
for index = 2, #KEYS do
  -- A tag has a second epoch, behind a blank, after a soft invalidation.
  for each in string.gmatch(redis.call('GET', KEYS[index]) or '', '%S+') do
    newest = math.max(newest, counted(each))
  end
end
local since = tonumber(ARGV[1]) or math.max(latest, newest)
if newest > since then return false end
local digits = string.format('%.0f', since)
-- A later invalidation must have a greater epoch, even after this server's clock was set back.
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
