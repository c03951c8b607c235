import type { Redis } from 'ioredis'

/**
 * Takes memory away bit by bit until Redis evicts what would expire first: leases before values. Then gives it back.
 * @returns how many keys it evicted: a few, or 0 if none expires
 */
export async function evictSoonest(client: Redis): Promise<number> {
  const before = await evictedKeys(client)
  // So many keys it looks at before it decides.
  await client.config('SET', 'maxmemory-samples', '64')
  for (let limit = await usedMemory(client); limit > 0; limit -= 128) {
    const someExpire = /^db\d+:.*expires=[1-9]/m.test(await client.info('keyspace'))
    if (!someExpire || (await evictedKeys(client)) > before) break
    await limitMemory(client, 'volatile-ttl', limit)
  }
  await limitMemory(client, 'noeviction', 0)
  return (await evictedKeys(client)) - before
}

export async function limitMemory(client: Redis, policy: string, bytes: number): Promise<void> {
  await client.config('SET', 'maxmemory-policy', policy)
  await client.config('SET', 'maxmemory', String(bytes))
}

export async function usedMemory(client: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
}

async function evictedKeys(client: Redis): Promise<number> {
  return Number(/^evicted_keys:(\d+)/m.exec(await client.info('stats'))?.[1])
}
