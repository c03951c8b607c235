-- Runs a function for each of several keys of a command, each for itself: an error of one is the answer for that one.
-- KEYS  as many for each, one after the other
-- ARGV  number of keys, then for each as many arguments
-- Returns  what the function returns, for each
local function eachKey(work)
  local many = tonumber(ARGV[1])
  local keys, args = #KEYS / many, (#ARGV - 1) / many
  local answers = {}
  local bad = 0
  for each = 0, many - 1 do
    local good, answer = pcall(
      work,
      {unpack(KEYS, each * keys + 1, (each + 1) * keys)},
      {unpack(ARGV, each * args + 2, (each + 1) * args + 1)}
    )
    if not good then answer = {err = type(answer) == 'table' and answer.err or tostring(answer)} end
    if answer.err then bad = bad + 1 end
    answers[each + 1] = answer
  end
  -- An error of all keys must look like one: a client may reconnect because of it.
  return bad == many and answers[1] or answers
end
