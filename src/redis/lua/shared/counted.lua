-- The number in a text; 0 if there is none, or one that is too large to be counted on.
local function counted(text)
  local number = tonumber(text or 0)
  return number and number < 9007199254740991 and number or 0
end
