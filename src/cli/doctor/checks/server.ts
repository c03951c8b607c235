import type { FleetMode } from '../../../core/contract/mode.ts'
import { namespacePrefix } from '../../../core/entry/key.ts'
import { portOf } from '../../../redis/clients/redis-client.ts'
import { fleetMode } from '../../../redis/values/fleet-mode.ts'
import { nothingIn, searchNamespace, type NamespaceSearch } from '../../namespaces.ts'
import { about, type Finding } from '../finding.ts'
import type { Facts } from '../facts.ts'
import type { Subject } from './subject.ts'
import { time } from '../../units.ts'

const voice = about('server', 'docs/redis.md#what-redis-needs')
const clusterPage = 'docs/redis.md#redis-cluster'

/** The kind of server, and whether the library works on it. */
export function server({ facts, kind }: Subject): Finding[] {
  const { name, version } = identity(facts)
  const mode = facts.hello('mode') ?? facts.info('redis_mode')
  const uptime = facts.count('uptime_in_seconds')
  const what = `${name} ${version ?? 'of unknown version'}${uptime === undefined ? '' : `, up ${time(1_000 * uptime)}`}`
  if (mode === 'sentinel') {
    return [voice.problem(`${what}: a sentinel, which holds no data`, 'Give its URL together with --sentinel <name>.')]
  }
  if (facts.info('loading') === '1') {
    return [
      voice.problem(`${what}: it is loading its data and answers nothing else`, 'Wait until it has, and ask again.'),
    ]
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    const todo = 'Give --cluster here, and let the application use the class Cluster of ioredis.'
    return [
      { ...voice.problem(`${what}: a node of a cluster, which sends others' keys away`, todo), page: clusterPage },
    ]
  }
  if (version !== undefined && name === 'Redis' && older(version, [6, 2])) {
    return [voice.problem(`${what}: older than 6.2`, 'Upgrade it: herdless is for 6.2 and newer, and for Valkey.')]
  }
  if (name !== 'Redis' && name !== 'Valkey') {
    return [voice.warning(`${what}, which herdless is not tested with`, 'Run its tests on it: see CONTRIBUTING.md.')]
  }
  if (version === undefined) return [voice.note(what, 'Not allowed to look. It must be Redis 6.2 or newer, or Valkey.')]
  return [voice.ok(what)]
}

/** Whether a further examination makes sense after the findings about a server. */
export function canBeExamined(findings: readonly Finding[]): boolean {
  return !findings.some(({ level }) => level === 'problem')
}

function identity(facts: Facts): { name: string; version: string | undefined } {
  const dragonfly = facts.info('dragonfly_version')
  if (dragonfly !== undefined) return { name: 'Dragonfly', version: dragonfly }
  if (/keydb/i.test(facts.info('executable') ?? '')) return { name: 'KeyDB', version: facts.info('redis_version') }
  const valkey = facts.info('valkey_version')
  if (valkey !== undefined || facts.hello('server') === 'valkey') {
    return { name: 'Valkey', version: valkey ?? facts.hello('version') }
  }
  const said = facts.hello('server') ?? 'redis'
  return { name: said === 'redis' ? 'Redis' : said, version: facts.info('redis_version') ?? facts.hello('version') }
}

function older(version: string, [major, minor]: readonly [number, number]): boolean {
  const [itsMajor = 0, itsMinor = 0] = version.split('.').map(Number)
  return itsMajor < major || (itsMajor === major && itsMinor < minor)
}

/** The facts that the server refused to report. */
export function view({ facts }: Subject): Finding[] {
  if (facts.hidden.length === 0) return []
  const what = `Not allowed to look: ${facts.hidden.join('; ')}`
  return [about('view', 'docs/production.md#the-doctor').note(what, 'What depends on it was not examined.')]
}

/** The mode of the namespace, if it is not that of every day. */
export async function switched({ connection, settings }: Subject): Promise<Finding[]> {
  const prefix = namespacePrefix(settings.namespace)
  // In a cluster, another node may have the key.
  const answer = await connection.attempt(() => fleetMode(portOf(connection.client), prefix))
  if ('refused' in answer || answer.reply === null) return []
  const { mode, left } = answer.reply as FleetMode
  if (mode === 'cache') return []
  const until = left < Number.POSITIVE_INFINITY ? `, for another ${time(left)}` : ''
  const todo = 'Nothing is read from Redis or stored there. `herdless mode cache` ends it.'
  return [about('mode', 'docs/modes.md').warning(`Namespace ${settings.namespace} is ${mode}${until}`, todo)]
}

const voiceOfNamespace = about('namespace', 'docs/options.md#createcache')

/** Whether the server has values of other namespaces alone: the given one may be mistyped. */
export async function neighbours({ connection, settings }: Subject): Promise<Finding[]> {
  const answer = await connection.attempt(() => searchNamespace(connection.client, settings.namespace))
  // Without the right to SCAN, which no cache needs, nothing is known.
  if ('refused' in answer) return []
  const search = answer.reply as NamespaceSearch
  if (search.others.length === 0) return []
  return [
    voiceOfNamespace.note(nothingIn(settings.namespace, search), 'Name yours with --namespace, unless it is new.'),
  ]
}
