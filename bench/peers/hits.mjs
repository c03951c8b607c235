/** The cost of a hit in one process, by turns with the lowest cost that is possible. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { createClient } from 'redis'
import { never as miss, product } from '../lines/line.mjs'

const keys = Array.from({ length: 1_024 }, (_, index) => `product:${index}`)
const never = async () => miss()
const inFlight = 64
const milliseconds = 200

/**
 * Hits in Redis with 64 in flight, a second, beside GET and JSON.parse on a client of ioredis and of node-redis.
 * @param {import('./peer.mjs').Peer} peer
 * @param {string} url
 * @param {number} rounds
 * @returns {Promise<{ peer: number, ioredis: number, nodeRedis: number }[]>}
 */
export async function hitsInRedis(peer, url, rounds) {
  const [ioredis, nodeRedis] = [new Redis(url), createClient({ url })]
  await nodeRedis.connect()
  for (const key of keys) {
    await ioredis.set(`raw:${key}`, JSON.stringify(product), 'PX', 60_000)
    await peer.getOrLoad(key, async () => product)
  }
  const ways = {
    ioredis: async (/** @type {string} */ key) => JSON.parse(String(await ioredis.get(`raw:${key}`))),
    nodeRedis: async (/** @type {string} */ key) => JSON.parse(String(await nodeRedis.get(`raw:${key}`))),
    peer: (/** @type {string} */ key) => peer.getOrLoad(key, never),
  }
  const found = await byTurns(ways, rounds, crowded)
  ioredis.disconnect()
  nodeRedis.destroy()
  return found
}

/**
 * Hits in memory, one awaited after the other, a second, beside `await lru.get()`.
 * @param {import('./peer.mjs').Peer} peer
 * @param {number} rounds
 * @returns {Promise<{ peer: number, lru: number }[]>}
 */
export async function hitsInMemory(peer, rounds) {
  /** @type {LRUCache<string, object>} */
  const lru = new LRUCache({ max: 10_000 })
  for (const key of keys) {
    lru.set(key, structuredClone(product))
    // The first call loads; another one may be what brings the value into memory.
    for (let turn = 0; turn < 3; turn++) await peer.getOrLoad(key, async () => product)
  }
  return byTurns({ lru: (key) => lru.get(key), peer: (key) => peer.getOrLoad(key, never) }, rounds, oneByOne)
}

/**
 * @template {string} Way
 * @param {Record<Way, (key: string) => unknown>} ways
 * @param {number} rounds
 * @param {(way: (key: string) => unknown) => Promise<number>} rate
 * @returns {Promise<Record<Way, number>[]>}
 */
async function byTurns(ways, rounds, rate) {
  const all = []
  // The first two rounds are for the just-in-time compiler.
  for (let round = -2; round < rounds; round++) {
    const figures = /** @type {Record<Way, number>} */ ({})
    for (const way of /** @type {Way[]} */ (Object.keys(ways))) {
      figures[way] = await rate(ways[way])
      await sleep(50)
    }
    if (round >= 0) all.push(figures)
  }
  return all
}

/** @param {(key: string) => unknown} way */
async function crowded(way) {
  const began = performance.now()
  let hits = 0
  const caller = async (/** @type {number} */ first) => {
    // Keys of its own, so that no two callers want the same one: this is about hits, not about callers that share one.
    for (let turn = first; performance.now() < began + milliseconds; turn += inFlight) {
      await way(keyAt(turn))
      hits++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, (_, first) => caller(first)))
  return (hits / (performance.now() - began)) * 1_000
}

/** @param {(key: string) => unknown} way */
async function oneByOne(way) {
  const began = performance.now()
  let hits = 0
  while (performance.now() < began + milliseconds) {
    for (let turn = 0; turn < 100; turn++) await way(keyAt(hits++))
  }
  return (hits / (performance.now() - began)) * 1_000
}

/** @param {number} index */
function keyAt(index) {
  return /** @type {string} */ (keys[index % keys.length])
}
