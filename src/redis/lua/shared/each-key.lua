-- Runs a function for each of several items of a command, each for itself: an error of one is the reply for that one.
-- The number of items is the first argument; `keys` and `args` of each are the last ones of the command, one item after
-- the other. What all have in common stands before them.
-- Returns  what the function returns, for each
local function eachKey(work, keys, args)
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
    -- Redis 6 puts the line of the script before its own words.
    if not good then reply = {err = type(reply) == 'table' and reply.err or string.gsub(tostring(reply), '^@user_script: %d+: %-?', '')} end
    if reply.err then bad = bad + 1 end
    replies[each + 1] = reply
  end
  -- An error of all items must look like one: a client may reconnect because of it.
  return bad == many and replies[1] or replies
end
