-- Take the report of a user of a source, and grant it permits. One atomic step.
-- KEYS  1 the source: a hash with a row for each user, and the fields `rate` and `recovering`
-- ARGV  1 the user   2 its inbox, '' if it has none   3 number of the report
--       4 held permits  5 wanted permits   6 urgency, from 0
--       7 most permits of all, 0 for any number
--       8 most permits within each   9 ms; 0 for any number
--      10 ms for which it holds its permits without another report
--      11 ms for which it counts as a user although it holds and wants nothing
--      12 how many users it knows, 0 if none
--      13 'strict' if permits that it holds or gives back are lost when they are not found here, else ''
--      14 ms without a subscriber after which the inbox of a user counts as dead, '' for never
--      15 ms for which it has held the oldest of its permits, for look-at-source.lua
--      16 suffix of the channel by which a user is seen, behind its inbox; '' outside a cluster
-- Returns  {granted permits, 1 if its own were found, users, waiting users, permits that those want, ms after which more
--          may be granted or -1, 1 if a message will tell, most permits of all or 0}
-- include shared/witness.lua
local key, me, inbox, suffix = KEYS[1], ARGV[1], ARGV[2], ARGV[16]
local function number(index) return tonumber(ARGV[index]) end
local seq, held, wants, urgency, most = number(3), number(4), number(5), number(6), number(7)
local loads, per, ttl, keep, known, goneAfter = number(8), number(9), number(10), number(11), number(12), tonumber(ARGV[14])
-- `placeKept`, `recovery`, `rateSteps`, `mostSteps` and `clockSlack` of core/contract/permits.ts.
local placeKept, recovery, rateSteps, mostSteps, clockSlack = 1500, 1500, 20, 1000, 5000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local stored = redis.pcall('HGETALL', key)
if stored.err then
  if not string.find(stored.err, 'WRONGTYPE', 1, true) then return stored end
  redis.call('DEL', key)
  stored = {}
end

-- A row: seq, held, wants, urgency, most, at, since, ttl, keep, inbox, watched, suspect; when the oldest permit was
-- granted, for look-at-source.lua; loads, per
local SEQ, HELD, WANTS, URGENCY, MOST, AT, SINCE, TTL, KEEP, INBOX, WATCHED, SUSPECT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local LOADS, PER, columns = 14, 15, 15
local mine
local others = {}
local recovering, remembered, granted = 0, 0, ''
for index = 1, #stored, 2 do
  local who, text = stored[index], stored[index + 1]
  if who == 'recovering' then
    local till, users = string.match(text, '^(%d+) (%d+)$')
    recovering, remembered = tonumber(till) or 0, tonumber(users) or 0
  elseif who == 'rate' then
    granted = text
  else
    local good, row = pcall(cmsgpack.unpack, text)
    good = good and type(row) == 'table' and #row == columns
    -- Nothing lasts longer than intended because this server's clock was set back.
    local age = good and now - row[AT] or 0
    -- Not before the holder itself has given up: of two times that are cut to milliseconds, the difference may be one less.
    if good and (age > row[TTL] or age < -clockSlack) then row[HELD] = 0 end
    if good and (age >= placeKept or age < -clockSlack) then row[WANTS] = 0 end
    if who == me then
      mine = good and row or nil
    elseif good and (row[HELD] > 0 or row[WANTS] > 0 or (age < row[KEEP] and age >= -clockSlack)) then
      row.who = who
      others[#others + 1] = row
    else
      redis.call('HDEL', key, who)
    end
  end
end
if mine and mine[SEQ] >= seq then
  -- A report that was sent again is answered as the first time: that answer was lost.
  local before = mine[SEQ] == seq and math.max(0, mine[HELD] - held) or 0
  return {before, 1, #others + 1, 0, 0, -1, 0, most}
end

local holds = 1
if ARGV[13] == 'strict' and not (mine and mine[HELD] > 0) then
  held, holds = 0, 0
end

local function subscribed(names)
  local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(names))
  return not counts.err and counts or {}
end

local function heldByOthers()
  local sum = 0
  for _, row in ipairs(others) do
    sum = sum + row[HELD]
    if row[MOST] > 0 and (most == 0 or row[MOST] < most) then most = row[MOST] end
  end
  return sum
end
local used = heldByOthers()

-- The permits of a dead user are free. Redis reports no dead clients, but it knows whether an inbox has a subscriber.
-- The process may only be reconnecting, so it has a moment to report.
local again = -1
if goneAfter and wants > 0 and most > 0 then
  local witnessed = witness(suffix)
  local names = {}
  for _, row in ipairs(others) do
    if row[WATCHED] == witnessed then names[#names + 1] = row[INBOX] .. suffix end
  end
  local isDead = {}
  local counts = #names > 0 and subscribed(names) or {}
  for index = 1, #counts, 2 do
    if counts[index + 1] == 0 then isDead[counts[index]] = true end
  end
  local live = {}
  for _, row in ipairs(others) do
    local silent = row[WATCHED] == witnessed and isDead[row[INBOX] .. suffix]
    if silent and row[SUSPECT] > 0 and now - row[SUSPECT] >= goneAfter then
      redis.call('HDEL', key, row.who)
    else
      if silent and row[SUSPECT] == 0 then
        row[SUSPECT] = now
        redis.call('HSET', key, row.who, cmsgpack.pack({unpack(row, 1, columns)}))
      elseif not silent and row[SUSPECT] > 0 then
        row[SUSPECT] = 0
        redis.call('HSET', key, row.who, cmsgpack.pack({unpack(row, 1, columns)}))
      end
      if silent then again = goneAfter + 1 end
      live[#live + 1] = row
    end
  end
  others = live
  used = heldByOthers()
end

-- This server has forgotten all users: they have a moment to report, and until then none is granted more than its share.
if #stored == 0 and known > 0 then
  recovering, remembered = now + recovery, known
  redis.call('HSET', key, 'recovering', string.format('%.0f %.0f', recovering, known))
elseif recovering > 0 and (recovering <= now or recovering > now + recovery) then
  recovering = 0
  redis.call('HDEL', key, 'recovering')
end

local room = math.huge
if most > 0 then
  room = most - used - held
  if recovering > now then
    local share = math.max(1, math.floor(most / math.max(known, remembered, #others + 1)))
    room = math.min(room, share - held)
    again = recovering - now
  end
end

-- The smallest number of each `per` that anybody names, and the permits that were granted within the longest of them, in
-- steps: a step counts until its end has left the window.
local least, shortest, longest = {}, math.huge, 0
local function limit(count, within)
  if count == 0 then return end
  least[within] = math.min(least[within] or count, count)
  shortest, longest = math.min(shortest, within), math.max(longest, within)
end
limit(loads, per)
for _, row in ipairs(others) do limit(row[LOADS], row[PER]) end
local steps = {}
for at, count in string.gmatch(granted, '(%d+):(%d+)') do
  at, count = tonumber(at), tonumber(count)
  if at + longest > now and at <= now + longest then steps[#steps + 1] = {at, count} end
end
local wait = 0
for within, left in pairs(least) do
  local first
  for _, step in ipairs(steps) do
    if step[1] + within > now then
      first = first or step[1]
      left = left - step[2]
    end
  end
  room = math.min(room, left)
  if left <= 0 and first then wait = math.max(wait, first + within - now + 1) end
end
if wait > 0 and (again < 0 or wait < again) then again = wait end

-- Set aside the permits that more urgent users want, and one for each user that is as urgent, has waited longer and
-- holds less than its share.
local isNew = not (mine and mine[WANTS] > 0 and mine[URGENCY] == urgency)
local since = isNew and now or mine[SINCE]
local peers, waiting, permits, before = {}, 0, 0, 0
for _, row in ipairs(others) do
  if row[WANTS] > 0 and row[URGENCY] <= urgency then
    waiting = waiting + 1
    permits = permits + row[WANTS]
    if row[URGENCY] < urgency then before = before + row[WANTS] else peers[#peers + 1] = row end
  end
end
local share = most > 0 and math.ceil(most / (waiting + 1)) or math.huge
for _, row in ipairs(peers) do
  local isFirst = row[SINCE] < since or (row[SINCE] == since and row.who < me)
  if isFirst and row[HELD] < share then before = before + 1 end
end
local grant = 0
if wants > 0 and room > before then
  grant = math.min(wants, math.ceil((room - before) / (#peers + 1)))
  if waiting > 0 then grant = math.max(0, math.min(grant, share - held)) end
end

if grant > 0 and longest > 0 then
  local step = math.max(1, math.floor(shortest / rateSteps), math.ceil(longest / mostSteps))
  local at = math.ceil(now / step) * step
  local last = steps[#steps]
  -- A later one is from when only a longer `per` counted.
  if last and last[1] >= at then last[2] = last[2] + grant else steps[#steps + 1] = {at, grant} end
  local texts = {}
  for _, each in ipairs(steps) do texts[#texts + 1] = string.format('%.0f:%.0f', each[1], each[2]) end
  redis.call('HSET', key, 'rate', table.concat(texts, ' '))
end

held = held + grant
wants = wants - grant
if held > 0 or wants > 0 or keep > 0 then
  -- A user that was granted permits goes to the end of the queue.
  if grant > 0 or wants == 0 then since = now end
  -- The inbox stands for its process only if this server itself sees it subscribed.
  local watched = goneAfter and inbox ~= '' and (subscribed({inbox .. suffix})[2] or 0) > 0 and witness(suffix)
  local row = {seq, held, wants, urgency, number(7), now, since, ttl, keep, inbox, watched or '', 0, now - number(15), loads, per}
  redis.call('HSET', key, me, cmsgpack.pack(row))
elseif mine then
  redis.call('HDEL', key, me)
end

local life = math.max(ttl, keep, longest, placeKept)
for _, row in ipairs(others) do life = math.max(life, row[AT] + math.max(row[TTL], row[KEEP]) - now) end
redis.call('PEXPIRE', key, math.ceil(life))

local function tell(row)
  if row[INBOX] ~= '' then redis.pcall('PUBLISH', row[INBOX], 't' .. row.who) end
end
-- Tell the users that hold more than their share that another one waits.
if wants > 0 and isNew then
  for _, row in ipairs(others) do
    if row[HELD] > share then tell(row) end
  end
end
-- Tell the first waiting users that there is room for them: what more urgent ones want is set aside. Else two users for
-- which there is none would tell each other of it, again and again.
local free = room - grant
if recovering <= now and free > 0 then
  local line = {}
  for _, row in ipairs(others) do
    if row[WANTS] > 0 then line[#line + 1] = row end
  end
  table.sort(line, function(one, other)
    if one[URGENCY] ~= other[URGENCY] then return one[URGENCY] < other[URGENCY] end
    if one[SINCE] ~= other[SINCE] then return one[SINCE] < other[SINCE] end
    return one.who < other.who
  end)
  local told, before, urgency, alike = 0, 0, 0, 0
  for _, row in ipairs(line) do
    if row[URGENCY] > urgency then before, urgency, alike = before + alike, row[URGENCY], 0 end
    if told >= free or before >= free then break end
    alike = alike + row[WANTS]
    if row[HELD] < share then
      tell(row)
      told = told + 1
    end
  end
end
return {grant, holds, #others + 1, waiting, permits, again, inbox ~= '' and 1 or 0, most}
