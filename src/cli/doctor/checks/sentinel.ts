import type { Address } from '../../library.ts'
import type { Connection, Connections } from '../connection.ts'
import { Unreachable } from '../connection.ts'
import { about, type Finding } from '../finding.ts'
import { many } from '../../units.ts'

const voice = about('sentinels', 'docs/production.md#replicas')

interface View {
  readonly sentinel: string
  readonly master: { readonly host: string; readonly port: number }
  readonly others: number
  /** The sentinel's objection to a failover; `null` if a failover is possible. */
  readonly objection: string | null
}

/**
 * The master according to the sentinels, and whether they could replace it.
 * @throws Unreachable if no sentinel knows it
 */
export async function sentinel(
  connections: Connections,
  sentinels: readonly Address[],
  master: string,
): Promise<{ readonly master: Address; readonly findings: readonly Finding[] }> {
  const asked = await Promise.allSettled(sentinels.map((address) => viewOf(connections, address, master)))
  const views = asked.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const troubles = asked.flatMap((result) => (result.status === 'rejected' ? [reasonOf(result.reason)] : []))
  const [first] = views
  if (first === undefined) throw new Unreachable(troubles.join('; '))
  const findings: Finding[] = troubles.map((trouble) =>
    voice.warning(`A sentinel does not help: ${trouble}`, 'A failover needs a majority of them.'),
  )
  const named = new Set(views.map((view) => `${view.master.host}:${view.master.port}`))
  if (named.size > 1) {
    const said = views.map((view) => `${view.sentinel} says ${view.master.host}:${view.master.port}`)
    const what = `They do not agree on the master: ${said.join(', ')}`
    findings.push(
      voice.problem(what, 'Normal for a moment during a failover; else there are two groups of the same name.'),
    )
  }
  const { objection, others } = first
  if (objection !== null)
    findings.push(voice.problem(`There could be no failover: ${objection}`, 'Bring the missing sentinels back.'))
  if (others < 2) {
    const todo = 'Three at least, on machines of their own: of two, none may fail.'
    findings.push(voice.warning(`There ${others === 0 ? 'is 1 sentinel' : 'are 2 sentinels'} in all`, todo))
  }
  if (findings.length === 0)
    findings.push(
      voice.ok(`${many(others + 1, 'sentinel')}, of which ${views.length} were asked, agree on ${[...named][0]}`),
    )
  return { master: first.master, findings }
}

/** @throws Unreachable */
async function viewOf(connections: Connections, address: Address, master: string): Promise<View> {
  const connection = await loggedIn(connections, address)
  const where = await connection.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master)
  if ('refused' in where) throw new Unreachable(`${connection.name}: ${where.refused}`)
  if (!Array.isArray(where.reply)) throw new Unreachable(`${connection.name} knows no master of this name`)
  const [host, port] = where.reply as [string, string]
  const quorum = await connection.ask('SENTINEL', 'CKQUORUM', master)
  const others = await connection.reply('SENTINEL', 'SENTINELS', master)
  return {
    sentinel: connection.name,
    master: { host, port: Number(port) },
    others: Array.isArray(others) ? others.length : 0,
    objection: 'refused' in quorum ? quorum.refused : null,
  }
}

/**
 * Tries without credentials first: sentinels are often open even if their servers are not, and reject a password that
 * they did not ask for.
 */
async function loggedIn(connections: Connections, address: Address): Promise<Connection> {
  const open = { username: undefined, password: undefined }
  try {
    const connection = await connections.open(address, open)
    const answer = await connection.ask('SENTINEL', 'MASTERS')
    if (!('refused' in answer && answer.refused.startsWith('NOAUTH'))) return connection
  } catch (error) {
    if (!(error instanceof Unreachable && /NOAUTH/.test(error.message))) throw error
  }
  return connections.open(address)
}

function reasonOf(reason: unknown): string {
  if (reason instanceof Unreachable) return reason.message
  throw reason
}
