import { namespacePrefix } from '../../core/entry/key.ts'
import { tokens } from '../../core/lease/token.ts'
import { valueKey } from '../../redis/values/keys.ts'
import { access } from './checks/access.ts'
import { clients } from './checks/clients.ts'
import { cluster } from './checks/cluster.ts'
import type { Address } from '../library.ts'
import { Unreachable, nameOf, type Connection, type Connections } from './connection.ts'
import { Facts } from './facts.ts'
import { about, type Finding } from './finding.ts'
import { lease } from './checks/lease.ts'
import { memory } from './checks/memory.ts'
import { messages } from './checks/messages.ts'
import type { Question } from './options.ts'
import { persistence } from './checks/persistence.ts'
import { replicas } from './checks/replication.ts'
import type { Found } from './report.ts'
import { rights } from './checks/rights.ts'
import { sentinel } from './checks/sentinel.ts'
import { canBeExamined, neighbours, server, switched, view } from './checks/server.ts'
import { slow } from './checks/slow.ts'
import type { DoctorCheck, Subject } from './checks/subject.ts'
import { clock, clocks, roundTrip, timingOf, type Timing } from './checks/timing.ts'

/** The most keys to try until one belongs to a given node: with a hundred nodes, one in a hundred does. */
const mostKeys = 2_000

const looks: readonly DoctorCheck[] = [memory, persistence, replicas, clients, slow]

/**
 * Examines the subject of a question.
 * @param addresses the addresses in the URLs
 * @throws Unreachable if there is nothing to examine
 */
export async function examine(
  question: Question,
  connections: Connections,
  addresses: readonly Address[],
  database: number,
): Promise<Found> {
  const examination = { question, connections, database }
  const [only] = addresses as [Address]
  if (question.kind === 'server') return new Map([['', (await examined(examination, only)).findings]])
  if (question.kind === 'sentinel') {
    const { master, findings } = await sentinel(connections, addresses, question.master)
    return new Map([
      ['', findings],
      [nameOf(master), (await examined(examination, master)).findings],
    ])
  }
  return examinedCluster(examination, addresses)
}

interface Examination {
  readonly question: Question
  readonly connections: Connections
  readonly database: number
}

interface Examined {
  readonly findings: readonly Finding[]
  readonly timing: Timing | null
}

async function examinedCluster(examination: Examination, seeds: readonly Address[]): Promise<Found> {
  const { seed, connection } = await firstOf(examination.connections, seeds)
  const { masters, findings } = await cluster(connection, seed)
  const ofAll = [...findings]
  const found = new Map<string, readonly Finding[]>([['', ofAll]])
  const timings = new Map<string, Timing>()
  for (const master of masters) {
    const name = nameOf(master)
    const result = await examined(examination, master).catch(unreached)
    found.set(name, result.findings)
    if (result.timing !== null) timings.set(name, result.timing)
  }
  ofAll.push(...clocks(timings))
  return found
}

function unreached(error: unknown): Examined {
  if (!(error instanceof Unreachable)) throw error
  const voice = about('server', 'docs/redis.md#redis-cluster')
  const todo =
    'A process of the application needs every master at the address that the cluster names (or a natMap of its client).'
  return { findings: [voice.problem(`Not reached: ${error.message}`, todo)], timing: null }
}

async function firstOf(
  connections: Connections,
  seeds: readonly Address[],
): Promise<{ seed: Address; connection: Connection }> {
  const troubles: string[] = []
  for (const seed of seeds) {
    try {
      return { seed, connection: await connections.open(seed) }
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      troubles.push(error.message)
    }
  }
  throw new Unreachable(troubles.join('; '))
}

/** @throws Unreachable */
async function examined({ question, connections, database }: Examination, address: Address): Promise<Examined> {
  const connection = await connections.open(address)
  const facts = await Facts.of(connection)
  const { settings, aclUser, kind } = question
  const connect = (): Promise<Connection> => connections.open(address)
  const { library } = connections
  const ofNobody = { connection, connect, facts, settings, aclUser, library, kind, database, key: '' }
  const first = server(ofNobody)
  if (!canBeExamined(first)) return { findings: first, timing: null }
  const timing = await timingOf(connection)
  const subject: Subject = { ...ofNobody, key: await keyOn(connection, settings.namespace, kind) }
  const findings = [
    ...first,
    ...view(subject),
    ...access(connections.access(address)),
    ...roundTrip(subject, timing),
    ...clock(timing),
    ...(await neighbours(subject)),
    ...(await switched(subject)),
  ]
  findings.push(...(await tried(subject)))
  for (const look of looks) findings.push(...(await look(subject)))
  return { findings, timing }
}

/**
 * Checks the user's rights; if they suffice, tries a load and messages. A script that is stopped halfway would leave
 * keys behind.
 */
async function tried(subject: Subject): Promise<readonly Finding[]> {
  const allowed = await rights(subject)
  const missing = subject.aclUser === null && allowed.some(({ level }) => level === 'problem')
  if (!missing) return [...allowed, ...(await lease(subject)), ...(await messages(subject))]
  return [...allowed, about('lease', 'docs/protocol.md#steps-and-round-trips').note('Not tried, for want of rights')]
}

/** A new key that this server holds: in a cluster, a server redirects all others. */
async function keyOn(connection: Connection, namespace: string, kind: Subject['kind']): Promise<string> {
  const token = tokens()
  let key = ''
  for (let attempt = 0; attempt < (kind === 'cluster' ? mostKeys : 1); attempt++) {
    key = `${namespacePrefix(namespace)}doctor:${token()}`
    if (kind !== 'cluster') return key
    const answer = await connection.ask('GET', valueKey(key))
    if (!('refused' in answer && /^(MOVED|ASK|CLUSTERDOWN Hash slot not served)/.test(answer.refused))) return key
  }
  return key
}
