/**
 * The contracts of stores and locks on any runtime: prints which of their tests pass, and why others do not.
 *
 * <runtime> contracts.mjs <redis url>
 */
import process from 'node:process'
import { memoryStore } from 'herdless'
import { redisLock, redisStore } from 'herdless/redis'
import { lockContract, storeContract } from 'herdless/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const [url = ''] = process.argv.slice(2)
/** Nothing is given up because the machine is busy. */
const timeout = 60_000
/** How many tests run at a time: most of them wait. */
const atOnce = 8

/** @type {{ name: string, run: () => Promise<void> }[]} */
const tests = []
/** @param {string} name @param {() => Promise<void>} run */
const test = (name, run) => tests.push({ name, run })

const clients = [new Redis(url), new Redis(url), new Redis(url)]
const others = [createClient({ url }), createClient({ url })]
await Promise.all(others.map((client) => client.on('error', () => {}).connect()))

/** @type {Record<string, () => import('herdless').CacheOptions['store'][]>} */
const stores = {
  ioredis: () => clients.map((client) => redisStore(client)),
  'node-redis': () => others.map((client) => redisStore(client)),
}
const memory = () => {
  const store = memoryStore()
  return [store, store]
}
for (const [name, open] of Object.entries({ memory, ...stores })) {
  storeContract({
    name,
    test,
    timeout,
    open: async () => ({ stores: /** @type {any} */ (open()), close: async () => {} }),
  })
}
for (const [name, connected] of Object.entries({ ioredis: clients, 'node-redis': others })) {
  lockContract({
    name: `lock, ${name}`,
    test,
    timeout,
    open: async () => ({
      locks: connected.map((client) => redisLock(client, { commandTimeout: timeout })),
      waiting: async (lock) => clients[0]?.zcard(`{lock:${lock}}:queue`) ?? 0,
      close: async () => {},
    }),
  })
}

/** @type {string[]} */
const passed = []
/** @type {Record<string, string>} */
const failed = {}
const left = tests.values()
const runNext = async () => {
  for (const { name, run } of left) {
    try {
      await run()
      passed.push(name)
    } catch (error) {
      failed[name] = String(error)
    }
  }
}
await Promise.all(Array.from({ length: atOnce }, runNext))
for (const client of clients) client.disconnect()
for (const client of others) client.destroy()
console.log(JSON.stringify({ passed: passed.toSorted(), failed }))
