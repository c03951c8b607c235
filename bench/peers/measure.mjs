/** Measures herdless beside its peers, which it installs where they are missing. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { countCommands } from '../../examples/stampede-lab/command-counter.mjs'
import { middle } from '../../examples/stampede-lab/stampede.mjs'
import { checkout } from '../../tools/command.mjs'
import { median } from '../median.mjs'
import { invalidations, peerCases, stampedes } from './cases.mjs'
import { Fleet } from './fleet.mjs'
import { installPeers } from './packages.mjs'
import { peers } from './peer.mjs'

/** Of each stampede, and of the hits, which are over sooner. */
const rounds = 3
const hitRounds = 5
const folder = fileURLToPath(new URL('.', import.meta.url))

/**
 * @typedef {object} PeerResults
 * @property {string} name
 * @property {string} title
 * @property {string | null} package
 * @property {string} version
 * @property {'ioredis' | 'node-redis'} client
 * @property {'no' | 'alone' | 'before Redis'} memory
 * @property {Record<keyof typeof stampedes, import('./fleet.mjs').Round[]>} stampedes
 * @property {Record<typeof invalidations[number], { isOld: boolean }[]>} invalidations
 * @property {{ peer: number, ioredis: number, nodeRedis: number }[]} hitsInRedis empty where they are those of another row
 * @property {{ peer: number, lru: number }[]} hitsInMemory empty for peers without memory
 */

/**
 * @param {string} url of a Redis
 * @param {readonly string[]} [cases] of cases.mjs
 * @returns {Promise<{ rounds: number, peers: PeerResults[] }>}
 */
export async function measurePeers(url, cases = peerCases) {
  await installPeers()
  const results = []
  for (const name of Object.keys(peers)) {
    const found = await measure(name, url, cases)
    results.push(found)
    print(found)
  }
  return { rounds, peers: results }
}

/** @param {string} name @param {string} url @param {readonly string[]} cases @returns {Promise<PeerResults>} */
async function measure(name, url, cases) {
  const {
    title,
    package: packageName,
    client,
    memory: tier,
    adapter = name,
  } = /** @type {import('./peer.mjs').About} */ (peers[name])
  const place = { url, name: `herdless-peers-${process.pid}` }
  const commands = await countCommands(url, place.name)
  const fleet = new Fleet(adapter, place, commands)
  const memory = tier === 'before Redis'
  const times = Array.from({ length: rounds })
  const namespace = `${place.name}-${name}`
  const found = /** @type {PeerResults} */ ({
    name,
    title,
    package: packageName,
    version: await versionOf(packageName),
    client,
    memory: tier,
    stampedes: {},
    invalidations: {},
  })
  try {
    await fleet.open({ namespace, memory })
    // The first is for the just-in-time compiler.
    await fleet.stampede({ time: 5 })
    for (const by of cases.includes('invalidated') ? invalidations : []) {
      found.invalidations[by] = []
      for (const _ of times) found.invalidations[by].push(await fleet.invalidation(by))
    }
    for (const [key, { lockTtl, time, more }] of Object.entries(stampedes)) {
      if (!cases.includes(key)) continue
      if (lockTtl !== undefined) await fleet.open({ namespace: `${namespace}-${key}`, memory, lockTtl })
      const all = []
      for (const _ of times) all.push(await fleet.stampede({ time, ...more }))
      found.stampedes[/** @type {keyof typeof stampedes} */ (key)] = all
    }
  } finally {
    commands.close()
  }
  // Without MONITOR, which slows Redis down.
  found.hitsInRedis = []
  if (adapter === name && cases.includes('hits')) {
    await fleet.open({ namespace: `${namespace}-hits`, memory: false })
    found.hitsInRedis = await fleet.inOne('hitsInRedis', { url, rounds: hitRounds })
  }
  found.hitsInMemory = []
  if (tier !== 'no' && cases.includes('hits')) {
    await fleet.open({ namespace: `${namespace}-near`, memory: true })
    found.hitsInMemory = await fleet.inOne('hitsInMemory', { rounds: hitRounds })
  }
  await fleet.stop()
  return found
}

/** @param {string | null} name of a package of the peers; this one where it is null */
async function versionOf(name) {
  const manifest = JSON.parse(await readFile(join(name === null ? checkout : folder, 'package.json'), 'utf8'))
  return name === null ? manifest.version : manifest.dependencies[name]
}

/** @param {PeerResults} found */
function print({ title, stampedes, invalidations, hitsInRedis, hitsInMemory }) {
  console.log(`\n${title}`)
  const all = Object.entries(stampedes)
  if (all.length > 0)
    console.table(
      Object.fromEntries(
        all.map(([name, rounds]) => {
          const { callers, outcomes, loads, last, commands } = middle(rounds, ({ last }) => last)
          return [name, { callers, ...outcomes, loads, 'last answer, ms': Math.round(last), commands }]
        }),
      ),
    )
  const old = Object.entries(invalidations).map(
    ([by, each]) => `by ${by} ${each.map(({ isOld }) => (isOld ? 'old' : 'new'))}`,
  )
  if (old.length > 0) console.log(`invalidated while it loads, ${old.join('; ')}`)
  if (hitsInRedis.length > 0) {
    const ratio = median(hitsInRedis.map(({ peer, ioredis }) => peer / ioredis))
    console.log(`hits in Redis ÷ GET and JSON.parse: ${ratio.toFixed(2)}`)
  }
  if (hitsInMemory.length > 0) {
    console.log(
      `hits in memory ÷ await lru.get(): ${median(hitsInMemory.map(({ peer, lru }) => peer / lru)).toFixed(3)}`,
    )
  }
}
