-- Runs a function for each of several keys of a command, each for itself: an error of one is the reply for that one.
-- KEYS  as many for each, one after the other
-- ARGV  number of keys, then for each as many arguments
-- Returns  what the function returns, for each
local function eachKey(work)
  local many = tonumber(ARGV[1])
  local keys, args = #KEYS / many, (#ARGV - 1) / many
  local replies = {}
  local bad = 0
  for each = 0, many - 1 do
    local good, reply = pcall(
      work,
      {unpack(KEYS, each * keys + 1, (each + 1) * keys)},
      {unpack(ARGV, each * args + 2, (each + 1) * args + 1)}
    )
    if not good then reply = {err = type(reply) == 'table' and reply.err or tostring(reply)} end
    if reply.err then bad = bad + 1 end
    replies[each + 1] = reply
  end
  -- An error of all keys must look like one: a client may reconnect because of it.
  return bad == many and replies[1] or replies
end
