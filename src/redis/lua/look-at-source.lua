-- The permits of a source that are held and wanted, for an operator. Changes nothing.
-- KEYS  1 the source, as permits.lua writes it
-- Returns  a row for each user: {held permits, wanted permits, most permits of all or 0, ms since its oldest permit was
--          granted, most loads within each, ms; 0 for any number, loads that all have begun within that time}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HGETALL', KEYS[1])
local granted, users = '', {}
for index = 1, #stored, 2 do
  if stored[index] == 'rate' then
    granted = stored[index + 1]
  elseif stored[index] ~= 'recovering' then
    local good, row = pcall(cmsgpack.unpack, stored[index + 1])
    if good and type(row) == 'table' and #row == 15 then
      local age = now - row[6]
      local held = age < row[8] and row[2] or 0
      -- `placeKept` of core/contract/permits.ts.
      local wants = age < 1500 and row[3] or 0
      users[#users + 1] = {held, wants, row[5], held > 0 and math.max(0, now - row[13]) or 0, row[14], row[15], 0}
    end
  end
end
for _, user in ipairs(users) do
  for at, count in string.gmatch(granted, '(%d+):(%d+)') do
    if tonumber(at) + user[6] > now then user[7] = user[7] + tonumber(count) end
  end
end
return users
