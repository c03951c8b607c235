-- Read the state of a key, for operators; changes nothing.
-- KEYS  1 lease   2 value, if it is wanted
-- Returns  {now in microseconds, the value with its header or false, ms left of the lease, -2 if there is none,
--          number of waiting processes, then of the lease: state, token, version, since, renewals, holder, error, ttl,
--          answers, context}
local time = redis.call('TIME')
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
