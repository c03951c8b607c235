-- The mark that this server writes beside an inbox whose process it sees: only this server may judge later that the
-- process is gone. In a cluster that is its id, because each node sees only its own subscribers, and knows leases of
-- other nodes after a failover and after a slot has moved. False if it may not say.
-- suffix  of the channel by which a process is seen, behind its inbox: '' outside a cluster
local function witness(suffix)
  if suffix == '' then return '1' end
  local id = redis.pcall('CLUSTER', 'MYID')
  return type(id) == 'string' and id
end
