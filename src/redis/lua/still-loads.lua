-- Whether a load is still under way, for a waiter that asks from time to time. The holder is told, which releases the
-- lease if its load has ended.
-- KEYS  1 lease
-- ARGV  1 token of the load
--       2 inbox of the waiter
--       3 suffix of the channel by which a process is seen, '' outside a cluster
-- Returns  1 if it is: the lease has the token, the waiter is enlisted, and this server does not miss its holder
-- include shared/is-heard.lua
-- include shared/witness.lua
local token, suffix = ARGV[1], ARGV[3]
local lease = redis.call('HMGET', KEYS[1], 'state', 'token', '>' .. ARGV[2], 'inbox', 'watched')
local state, heldToken, enlisted, holderInbox, watched = unpack(lease, 1, 5)
if state ~= 'held' or heldToken ~= token or not enlisted then return 0 end
if holderInbox and holderInbox ~= '' then redis.pcall('PUBLISH', holderInbox, 'w' .. token .. KEYS[1]) end
if watched and holderInbox and watched == witness(suffix) and isHeard(holderInbox .. suffix) == false then return 0 end
return 1
