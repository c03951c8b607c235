// Written by scripts/embed-lua.mjs from src/redis/lua: change the scripts there, then run `npm run embed`.

/** A script, and the SHA-1 of its text: the name under which Redis runs it once it has been loaded. */
export interface Script {
  readonly name: string
  readonly lua: string
  readonly sha1: string
}

export const claim: Script = {
  name: 'claim',
  sha1: '8475283a5727866755595eef73333f9c6481e389',
  lua: `local function eachKey(work, keys, args)
  local many = tonumber(ARGV[1])
  local firstKey, firstArg = #KEYS - many * keys, #ARGV - many * args
  local replies = {}
  local bad = 0
  for each = 0, many - 1 do
    local good, reply = pcall(
      work,
      {unpack(KEYS, firstKey + each * keys + 1, firstKey + (each + 1) * keys)},
      {unpack(ARGV, firstArg + each * args + 1, firstArg + (each + 1) * args)}
    )
    if not good then reply = {err = type(reply) == 'table' and reply.err or string.gsub(tostring(reply), '^@user_script: %d+: %-?', '')} end
    if reply.err then bad = bad + 1 end
    replies[each + 1] = reply
  end
  return bad == many and replies[1] or replies
end
local function isHeard(channel)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if not listeners.err then return listeners[2] > 0 end
end
local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
local function witness(suffix)
  if suffix == '' then return '1' end
  local id = redis.pcall('CLUSTER', 'MYID')
  return type(id) == 'string' and id
end
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local function isRefused(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end
local inbox, goneAfter, holder, suffix = unpack(ARGV, 2, 5)
local epochKey = #KEYS % 2 == 1 and KEYS[1]
local function claim(KEYS, ARGV)
  local valueKey, leaseKey = KEYS[1], KEYS[2]
  local token, leaseTtl = ARGV[1], ARGV[2]
  local about = ARGV[3] == '' and {} or cjson.decode(ARGV[3])
  local unwanted = about.unwanted or ''
  local function epoch()
    local found = epochKey and redis.pcall('GET', epochKey)
    if found == false then
      found = string.format('%.0f', micros - 1)
      if redis.pcall('SET', epochKey, found, 'PX', 2592000000).err then return false end
    end
    return type(found) == 'string' and found
  end
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if isRefused(header) then return header end
  if type(header) ~= 'string' or #header < 48 or string.byte(header) ~= 177 then header = false end
  if header and not string.find(string.sub(header, 3, 18), '^[%w_-]+$') then header = false end
  local value = false
  local version = 0
  if header then
    local writer = string.sub(header, 3, 18)
    local isSoftened = string.byte(header, 2) % 4 >= 2
    local freshUntil, staleUntil
    freshUntil, staleUntil, version = struct.unpack('>I6I6d', header, 25)
    if not (version >= 0 and version < 9007199254740992) then version = 0 end
    if not isSoftened and not string.find(unwanted, writer, 1, true) and (writer == about.awaited or freshUntil > now) then
      return {'fresh', micros, redis.call('GET', valueKey)}
    end
    if staleUntil > now then
      value = writer == about.known and '' or redis.call('GET', valueKey)
    end
  end
  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox', 'watched', 'error', 'ttl', 'answers', 'context', 'suspect')
  if isRefused(lease) then return lease end
  if lease.err or not lease[1] or not lease[2] then lease = {} end
  local state, heldToken, heldFence, holderInbox, watched, failure, ttl, answers, context, suspect = unpack(lease, 1, 10)
  local left = redis.call('PTTL', leaseKey)
  local exists = left ~= -2
  local most = tonumber(ttl)
  if most and most >= 0 and left > most then
    left = math.floor(most)
    redis.call('PEXPIRE', leaseKey, left)
  end
  if state == 'held' then
    if heldToken == token then return {'lease', micros, heldFence, value, epoch()} end
    local gone = left < 0
    if not gone and goneAfter ~= '' and watched and holderInbox and watched == witness(suffix) then
      if isHeard(holderInbox .. suffix) == false then
        local suspectSince = tonumber(suspect)
        if not suspectSince then
          redis.call('HSET', leaseKey, 'suspect', now)
          suspectSince = now
        end
        local wait = suspectSince + goneAfter - now
        gone = wait <= 0
        if wait < left then left = wait end
      elseif suspect then
        redis.call('HDEL', leaseKey, 'suspect')
      end
    end
    if not gone then
      if inbox ~= '' then redis.call('HSET', leaseKey, '>' .. inbox, '') end
      if about.urgent then redis.call('HSET', leaseKey, 'urgent', 1) end
      if inbox ~= '' and heldToken == about.awaited and holderInbox and holderInbox ~= '' then
        redis.pcall('PUBLISH', holderInbox, 'w' .. heldToken .. leaseKey)
      end
      return {'wait', micros, heldToken, left, value, context or ''}
    end
    tellWaiters(redis.call('HKEYS', leaseKey), 'a' .. heldToken)
    if holderInbox ~= '' then redis.pcall('PUBLISH', holderInbox, 'a' .. heldToken) end
  elseif most and not string.find(unwanted, heldToken, 1, true)
    and (heldToken == about.awaited or left > most - (tonumber(answers) or most)) then
    if state == 'failed' then return {'failed', micros, failure, value, heldToken} end
    if state == 'pass' then return {'pass', micros} end
  end
  local fields = exists and redis.pcall('HKEYS', leaseKey) or {}
  if fields.err then
    redis.call('DEL', leaseKey)
    fields = {}
  end
  for _, field in ipairs(fields) do
    if field ~= 'state' then redis.call('HDEL', leaseKey, field) end
  end
  local fence = string.format('%.0f', math.max(micros, version + 1))
  local written = redis.pcall('HSET', leaseKey, 'state', 'held', 'token', token, 'version', fence, 'inbox', inbox,
    'ttl', leaseTtl, 'since', now, 'holder', holder)
  if type(written) ~= 'table' then written = redis.pcall('PEXPIRE', leaseKey, leaseTtl) end
  if type(written) == 'table' then
    redis.call('DEL', leaseKey)
    return written
  end
  if about.context and about.context ~= '' then redis.call('HSET', leaseKey, 'context', about.context) end
  local seenBy = goneAfter ~= '' and inbox ~= '' and isHeard(inbox .. suffix) and witness(suffix)
  if seenBy then redis.call('HSET', leaseKey, 'watched', seenBy) end
  return {'lease', micros, fence, value, epoch()}
end
return eachKey(claim, 2, 3)
`,
}

export const dropCopies: Script = {
  name: 'drop-copies',
  sha1: 'e7a7841255a4385e2e9ce283d389c81039d6d7d0',
  lua: `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.pcall('HKEYS', KEYS[1])
if fields.err or #fields == 0 then return {0, {}} end
local message = 'd' .. ARGV[1] .. (redis.call('HGET', KEYS[1], 'last') or ARGV[1]) .. ARGV[2]
if type(redis.pcall('HSET', KEYS[1], 'last', ARGV[1])) == 'table' then redis.call('HDEL', KEYS[1], 'last') end
local longest = 0
local told = {}
for _, inbox in ipairs(fields) do
  if inbox ~= 'last' then
    local left = (tonumber(redis.call('HGET', KEYS[1], inbox) or 0) or 0) - now
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
`,
}

export const epoch: Script = {
  name: 'epoch',
  sha1: 'aaba83425d44628d986df53eb21673f6dbd73fea',
  lua: `local found = redis.call('GET', KEYS[1])
if found then return found end
local time = redis.call('TIME')
local epoch = string.format('%.0f', time[1] * 1000000 + time[2] - 1)
redis.pcall('SET', KEYS[1], epoch, 'PX', 2592000000)
return epoch
`,
}

export const fill: Script = {
  name: 'fill',
  sha1: 'c4f14fa44fa6d4b945fb41ba101a581aeba1b8b7',
  lua: `local function eachKey(work, keys, args)
  local many = tonumber(ARGV[1])
  local firstKey, firstArg = #KEYS - many * keys, #ARGV - many * args
  local replies = {}
  local bad = 0
  for each = 0, many - 1 do
    local good, reply = pcall(
      work,
      {unpack(KEYS, firstKey + each * keys + 1, firstKey + (each + 1) * keys)},
      {unpack(ARGV, firstArg + each * args + 1, firstArg + (each + 1) * args)}
    )
    if not good then reply = {err = type(reply) == 'table' and reply.err or string.gsub(tostring(reply), '^@user_script: %d+: %-?', '')} end
    if reply.err then bad = bad + 1 end
    replies[each + 1] = reply
  end
  return bad == many and replies[1] or replies
end
local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local function fill(KEYS, ARGV)
  local valueKey, leaseKey, token, payload = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version')
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  if lease.err or lease[1] ~= 'held' or lease[2] ~= token then
    local writer = redis.pcall('GETRANGE', valueKey, 2, 17)
    return {writer == token and 1 or 0, micros}
  end
  local ttl, grace, sentAt, loadTime, longestInline, flags = unpack(cjson.decode(ARGV[3]))
  local from = math.min(sentAt, now)
  local freshUntil = from + ttl
  local staleUntil = freshUntil + grace
  local version = tonumber(lease[3]) or 0
  local value = struct.pack('>BBc16I6I6I6dI4', 177, flags, token, from, freshUntil, staleUntil, version, loadTime) .. payload
  redis.call('SET', valueKey, value, 'PX', math.max(staleUntil - now, 1000))
  local fields = redis.call('HKEYS', leaseKey)
  redis.call('DEL', leaseKey)
  tellWaiters(fields, #payload <= longestInline and 'v' .. token .. value or 'r' .. token)
  return {1, micros}
end
return eachKey(fill, 2, 3)
`,
}

export const giveBack: Script = {
  name: 'give-back',
  sha1: '1aa9b010ecf7e6cb15c553d50ef4062e83d94523',
  lua: `local lockKey, queueKey, placesKey = KEYS[1], KEYS[2], KEYS[3]
local placeKeptOnceTold = 250
local holder = redis.call('GET', lockKey)
local ours = 0
if ARGV[1] ~= '' and holder and (holder == ARGV[1] or string.sub(holder, 1, #ARGV[1] + 1) == ARGV[1] .. '@') then
  redis.call('DEL', lockKey)
  holder = false
  ours = 1
end
if ARGV[2] ~= '' then
  redis.call('ZREM', queueKey, ARGV[2])
  redis.call('ZREM', placesKey, ARGV[2])
end
if holder or (ARGV[1] ~= '' and ours == 0) then return ours end
local first = redis.call('ZRANGE', queueKey, 0, 0)[1]
if not first then return ours end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
while first do
  local place = tonumber(redis.call('ZSCORE', placesKey, first) or 0)
  local heard = 1
  if place > now then
    heard = redis.pcall('PUBLISH', string.sub(first, 17), 't' .. string.sub(first, 1, 16))
    if type(heard) == 'table' then heard = 1 end
  end
  if place > now and (heard > 0 or ARGV[3] or string.len(first) == 16) then
    redis.call('ZADD', placesKey, math.min(place, now + placeKeptOnceTold), first)
    break
  end
  redis.call('ZREM', queueKey, first)
  redis.call('ZREM', placesKey, first)
  first = redis.call('ZRANGE', queueKey, 0, 0)[1]
end
return ours
`,
}

export const invalidateTags: Script = {
  name: 'invalidate-tags',
  sha1: '6254c70506fda281713f595ea51571c0c185ca86',
  lua: `local function counted(text)
  local number = tonumber(text or 0)
  return number and number < 9007199254740991 and number or 0
end
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
epoch = string.format('%.0f', math.max(time[1] * 1000000 + time[2], epoch + 1))
redis.call('SET', KEYS[1], epoch, 'PX', 2592000000)
for index = 3, #KEYS do
  local epochs = epoch
  if ARGV[2] == 'soft' then
    local hard, soft, within = string.match(redis.call('GET', KEYS[index]) or '', '^(%d+) ?(%d*) ?(%d*)')
    local most = tonumber(ARGV[3])
    local left = tonumber(within) and math.floor((soft - epoch) / 1000 + within)
    if left and left <= 0 then hard = soft end
    if left and left > 0 then most = math.min(most or left, left) end
    if hard then epochs = hard .. ' ' .. epoch .. (most and string.format(' %.0f', most) or '') end
  end
  redis.call('SET', KEYS[index], epochs, 'PX', math.max(redis.call('PTTL', KEYS[index]), ARGV[1]))
end
return redis.call('PTTL', KEYS[2]) < 0 and 0 or 1
`,
}

export const keepCopies: Script = {
  name: 'keep-copies',
  sha1: '675d9999b50ac50e8f128c52d5c7b2ce5365b1bc',
  lua: `local last = redis.call('HGET', KEYS[1], 'last')
if not last then
  last = ARGV[3]
  redis.call('HSET', KEYS[1], 'last', last)
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]))
local expires = redis.pcall('PEXPIRE', KEYS[1], ARGV[2] * 10)
if type(expires) == 'table' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  if redis.call('PTTL', KEYS[1]) == -1 then redis.call('DEL', KEYS[1]) end
  return expires
end
redis.call('PUBLISH', ARGV[1], 's' .. ARGV[3] .. last)
return 1
`,
}

export const lookAtSource: Script = {
  name: 'look-at-source',
  sha1: '3ff5a82f6b9b72455318b5e8f89d8ae47a8c4647',
  lua: `local time = redis.call('TIME')
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
`,
}

export const look: Script = {
  name: 'look',
  sha1: 'b7749c51d3a48d8d8257cf12c7c3548acd116c3f',
  lua: `local time = redis.call('TIME')
local value = KEYS[2] and redis.pcall('GET', KEYS[2])
local lease = redis.pcall('HMGET', KEYS[1], 'state', 'token', 'version', 'since', 'renewals', 'holder', 'error', 'ttl', 'answers', 'context')
local left = redis.call('PTTL', KEYS[1])
local waiting = 0
if lease.err then
  lease = {}
  left = -2
else
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, 1) == '>' then waiting = waiting + 1 end
  end
end
local reply = {time[1] * 1000000 + time[2], type(value) == 'string' and value, left, waiting}
for field = 1, 10 do reply[4 + field] = lease[field] or false end
return reply
`,
}

export const markTags: Script = {
  name: 'mark-tags',
  sha1: 'c356dbee7f85f25e88a825d995cec11537345414',
  lua: `local function counted(text)
  local number = tonumber(text or 0)
  return number and number < 9007199254740991 and number or 0
end
local time = redis.call('TIME')
local epoch = counted(redis.call('GET', KEYS[1]))
local latest = epoch > 0 and epoch or time[1] * 1000000 + time[2]
local newest = 0
for index = 2, #KEYS do
  for each in string.gmatch(redis.call('GET', KEYS[index]) or '', '%S+') do
    newest = math.max(newest, counted(each))
  end
end
local since = tonumber(ARGV[1]) or math.max(latest, newest)
if newest > since then return false end
local digits = string.format('%.0f', since)
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
`,
}

export const overwrite: Script = {
  name: 'overwrite',
  sha1: '3eb9be0419a97fb68ef492f6120c1c38a45d9650',
  lua: `local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
local valueKey, leaseKey, token = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'version', 'inbox')
local fields = lease.err and {} or redis.call('HKEYS', leaseKey)
redis.call('DEL', leaseKey)
local function softened()
  local value = redis.pcall('GET', valueKey)
  if type(value) ~= 'string' or #value < 48 or string.byte(value) ~= 177 then return nil end
  local freshUntil, staleUntil = struct.unpack('>I6I6', value, 25)
  local grace = staleUntil - freshUntil
  freshUntil = math.min(freshUntil, now)
  staleUntil = math.min(freshUntil + grace, now + (tonumber(ARGV[4]) or grace))
  if grace <= 0 or staleUntil <= now then return false end
  local flags = string.byte(value, 2)
  if flags % 4 < 2 then flags = flags + 2 end
  local times = struct.pack('>I6I6', freshUntil, staleUntil)
  return string.char(177, flags) .. string.sub(value, 3, 24) .. times .. string.sub(value, 37), staleUntil
end
local late = token ~= '' and ARGV[6] ~= '' and now - ARGV[5] > tonumber(ARGV[6])
local soft, softUntil
if ARGV[3] == 'soft' then soft, softUntil = softened() end
if soft then
  redis.call('SET', valueKey, soft, 'PX', math.max(softUntil - now, 1000))
elseif token == '' or late then
  if ARGV[3] ~= 'soft' or soft == false then redis.call('DEL', valueKey) end
else
  local version = micros
  local header = redis.pcall('GETRANGE', valueKey, 0, 47)
  if type(header) == 'string' and #header == 48 and string.byte(header) == 177 then
    local before = struct.unpack('>d', header, 37)
    if before >= version and before < 9007199254740992 then version = before + 1 end
  end
  local held = tonumber(lease[3])
  if held and held < 9007199254740992 then version = math.max(version, held + 1) end
  local from = math.min(tonumber(ARGV[5]), now)
  local freshUntil = from + ARGV[3]
  local staleUntil = freshUntil + ARGV[4]
  local value = struct.pack('>BBc16I6I6I6dI4', 177, ARGV[7], token, from, freshUntil, staleUntil, version, 0) .. ARGV[2]
  redis.call('SET', valueKey, value, 'PX', math.max(staleUntil - now, 1000))
end
if lease[1] == 'held' and lease[2] then
  tellWaiters(fields, 'a' .. lease[2])
  if lease[4] ~= '' then redis.pcall('PUBLISH', lease[4], 'a' .. lease[2]) end
end
return {late and 0 or 1, micros, KEYS[3] and redis.call('PTTL', KEYS[3]) < 0 and 0 or 1}
`,
}

export const permits: Script = {
  name: 'permits',
  sha1: 'a2400e130c9456e21701f1b0f72887d3a09a417f',
  lua: `local function witness(suffix)
  if suffix == '' then return '1' end
  local id = redis.pcall('CLUSTER', 'MYID')
  return type(id) == 'string' and id
end
local key, me, inbox, suffix = KEYS[1], ARGV[1], ARGV[2], ARGV[16]
local function number(index) return tonumber(ARGV[index]) end
local seq, held, wants, urgency, most = number(3), number(4), number(5), number(6), number(7)
local loads, per, ttl, keep, known, goneAfter = number(8), number(9), number(10), number(11), number(12), tonumber(ARGV[14])
local placeKept, recovery, rateSteps, mostSteps, clockSlack = 1500, 1500, 20, 1000, 5000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.pcall('HGETALL', key)
if stored.err then
  if not string.find(stored.err, 'WRONGTYPE', 1, true) then return stored end
  redis.call('DEL', key)
  stored = {}
end
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
    local age = good and now - row[AT] or 0
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
  if last and last[1] >= at then last[2] = last[2] + grant else steps[#steps + 1] = {at, grant} end
  local texts = {}
  for _, each in ipairs(steps) do texts[#texts + 1] = string.format('%.0f:%.0f', each[1], each[2]) end
  redis.call('HSET', key, 'rate', table.concat(texts, ' '))
end
held = held + grant
wants = wants - grant
if held > 0 or wants > 0 or keep > 0 then
  if grant > 0 or wants == 0 then since = now end
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
if wants > 0 and isNew then
  for _, row in ipairs(others) do
    if row[HELD] > share then tell(row) end
  end
end
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
`,
}

export const prolong: Script = {
  name: 'prolong',
  sha1: '3429c552ed69eab621849b9f3943f73d0838814a',
  lua: `local replies = {}
for index, lockKey in ipairs(KEYS) do
  local holder = redis.pcall('GET', lockKey)
  if type(holder) == 'table' and not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  local ours = holder == ARGV[2 * index - 1]
  if ours then redis.call('PEXPIRE', lockKey, ARGV[2 * index]) end
  replies[index] = ours and 1 or 0
end
return replies
`,
}

export const release: Script = {
  name: 'release',
  sha1: 'e8a00f1a92767a78f20211272afd3587bd0a3696',
  lua: `local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
local replies = {}
for each, leaseKey in ipairs(KEYS) do
  local token, tell = ARGV[2 * each], ARGV[2 * each + 1]
  local lease = redis.pcall('HMGET', leaseKey, 'state', 'token', 'inbox')
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  replies[each] = 0
  if not lease.err and lease[1] == 'held' and lease[2] == token then
    local fields = redis.call('HKEYS', leaseKey)
    redis.call('DEL', leaseKey)
    tellWaiters(fields, 'a' .. token)
    if tell ~= '' and lease[3] and lease[3] ~= '' then redis.pcall('PUBLISH', lease[3], 'a' .. token) end
    replies[each] = 1
  end
end
return replies
`,
}

export const renew: Script = {
  name: 'renew',
  sha1: '4a48adc8675b9bab5b728912b1a275db304da6cb',
  lua: `local function isHeard(channel)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if not listeners.err then return listeners[2] > 0 end
end
local function witness(suffix)
  if suffix == '' then return '1' end
  local id = redis.pcall('CLUSTER', 'MYID')
  return type(id) == 'string' and id
end
local inbox, suffix = ARGV[1], ARGV[2]
local seenBy = inbox ~= '' and isHeard(inbox .. suffix) and witness(suffix)
local replies = {}
for index, key in ipairs(KEYS) do
  local token, ttl = ARGV[2 * index + 1], ARGV[2 * index + 2]
  local lease = redis.pcall('HMGET', key, 'state', 'token', 'watched', 'renewals', 'suspect', 'urgent')
  if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
  if not lease.err and lease[1] == 'held' and lease[2] == token then
    redis.call('PEXPIRE', key, ttl)
    redis.call('HSET', key, 'renewals', (tonumber(lease[4]) or 0) + 1)
    if lease[5] then redis.call('HDEL', key, 'suspect') end
    if seenBy and lease[3] ~= seenBy then redis.call('HSET', key, 'inbox', inbox, 'watched', seenBy) end
    if lease[3] and not seenBy then redis.call('HDEL', key, 'watched') end
    replies[index] = lease[6] and 2 or 1
  else
    replies[index] = 0
  end
end
return replies
`,
}

export const settle: Script = {
  name: 'settle',
  sha1: 'e243221cee45c1d65cba2c0cf4929c65756c74e9',
  lua: `local function tellWaiters(fields, message)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 1) == '>' then redis.pcall('PUBLISH', string.sub(field, 2), message) end
  end
end
local leaseKey, token, state = KEYS[1], ARGV[1], ARGV[2]
local lease = redis.pcall('HMGET', leaseKey, 'state', 'token')
if lease.err and not string.find(lease.err, 'WRONGTYPE', 1, true) then return lease end
if lease.err or lease[2] ~= token then return {0} end
if lease[1] ~= 'held' then return {1} end
local fields = redis.call('HKEYS', leaseKey)
tellWaiters(fields, string.sub(state, 1, 1) .. token .. ARGV[3])
local ttl = math.max(tonumber(ARGV[4]), 1000)
for _, field in ipairs(fields) do
  if field ~= 'state' then redis.call('HDEL', leaseKey, field) end
end
local written = redis.pcall('HSET', leaseKey, 'state', state, 'token', token, 'error', ARGV[3], 'ttl', ttl, 'answers', ARGV[4])
if type(written) ~= 'table' then written = redis.pcall('PEXPIRE', leaseKey, ttl) end
if type(written) == 'table' then
  redis.call('DEL', leaseKey)
  return written
end
return {1}
`,
}

export const stillLoads: Script = {
  name: 'still-loads',
  sha1: '1a1712c2916f192ba8652df96e73b4bad390f52f',
  lua: `local function isHeard(channel)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if not listeners.err then return listeners[2] > 0 end
end
local function witness(suffix)
  if suffix == '' then return '1' end
  local id = redis.pcall('CLUSTER', 'MYID')
  return type(id) == 'string' and id
end
local token, suffix = ARGV[1], ARGV[3]
local lease = redis.call('HMGET', KEYS[1], 'state', 'token', '>' .. ARGV[2], 'inbox', 'watched')
local state, heldToken, enlisted, holderInbox, watched = unpack(lease, 1, 5)
if state ~= 'held' or heldToken ~= token or not enlisted then return 0 end
if holderInbox and holderInbox ~= '' then redis.pcall('PUBLISH', holderInbox, 'w' .. token .. KEYS[1]) end
if watched and holderInbox and watched == witness(suffix) and isHeard(holderInbox .. suffix) == false then return 0 end
return 1
`,
}

export const take: Script = {
  name: 'take',
  sha1: '94ceedd60576447334436ce609a4b2819783a69b',
  lua: `local function isHeard(channel)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if not listeners.err then return listeners[2] > 0 end
end
local lockKey, fenceKey, queueKey, placesKey, suspectKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local me, ttl, waits, other = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local token, inbox = string.sub(me, 1, 16), string.sub(me, 17)
local goneAfter = 50
local placeKept = 5000
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local function nextFence()
  local life = math.max(86400000, 2 * ttl)
  local fence = string.format('%.0f', micros)
  local last = tonumber(redis.call('SET', fenceKey, fence, 'PX', life, 'GET') or 0) or 0
  if last >= micros and last < 9007199254740991 then
    fence = string.format('%.0f', last + 1)
    redis.call('SET', fenceKey, fence, 'PX', life)
  end
  return fence
end
local holder = redis.call('GET', lockKey)
if holder and string.sub(holder, 1, 16) == token then
  return {1, holder, redis.call('GET', fenceKey) or nextFence()}
end
local left = holder and redis.call('PTTL', lockKey) or 0
local suspected = false
local address = holder and suspectKey and string.match(holder, '^' .. string.rep('.', 16) .. '@(.+)$')
if address then
  if isHeard(address) == false then
    local since = redis.call('GET', suspectKey)
    if not since then
      redis.call('SET', suspectKey, now, 'PX', 10000)
      since = now
    end
    local rest = since + goneAfter - now
    if rest <= 0 then
      redis.call('DEL', lockKey, suspectKey)
      redis.pcall('PUBLISH', address, 'a' .. string.sub(holder, 1, 16))
      holder = false
    else
      suspected = true
      if left < 0 or rest < left then left = rest end
    end
  else
    redis.call('DEL', suspectKey)
  end
end
local first = redis.call('ZRANGE', queueKey, 0, 0)[1]
local gone = {}
if first then
  gone = redis.call('ZRANGEBYSCORE', placesKey, '-inf', now)
  if #gone > 0 then
    for _, each in ipairs(gone) do redis.call('ZREM', queueKey, each) end
    redis.call('ZREMRANGEBYSCORE', placesKey, '-inf', now)
    first = redis.call('ZRANGE', queueKey, 0, 0)[1]
  end
  local since = other and redis.call('ZSCORE', queueKey, other)
  if since then
    redis.call('ZREM', queueKey, other)
    redis.call('ZREM', placesKey, other)
    redis.call('ZADD', queueKey, since, me)
    if first == other then first = me end
  end
  while suspectKey and waits == 'fair' and not holder and first and first ~= me and #first > 16
    and isHeard(string.sub(first, 17)) == false do
    redis.call('ZREM', queueKey, first)
    redis.call('ZREM', placesKey, first)
    gone[#gone + 1] = first
    first = redis.call('ZRANGE', queueKey, 0, 0)[1]
  end
end
if not holder then
  if waits ~= 'fair' or not first or first == me then
    if first then
      redis.call('ZREM', queueKey, me)
      redis.call('ZREM', placesKey, me)
    end
    if suspectKey then redis.call('DEL', suspectKey) end
    local name = token
    if suspectKey and inbox ~= '' and isHeard(inbox) then name = token .. '@' .. inbox end
    redis.call('SET', lockKey, name, 'PX', ttl)
    return {1, name, nextFence()}
  end
  if #gone > 0 then redis.pcall('PUBLISH', string.sub(first, 17), 't' .. string.sub(first, 1, 16)) end
end
if waits ~= 'no' then
  redis.call('ZADD', queueKey, 'NX', string.format('%.0f', micros), me)
  redis.call('ZADD', placesKey, now + placeKept, me)
  redis.call('PEXPIRE', queueKey, 2 * placeKept)
  redis.call('PEXPIRE', placesKey, 2 * placeKept)
  if first and first ~= me and not suspected then left = -1 end
end
local tells = not holder or string.find(holder, '^[%w_-]+$') and #holder == 16 or address or string.find(holder, '^[%w_-]+@herdless:')
return {0, left, tells and 1 or 0}
`,
}
