import { tokens } from '../../../core/lease/token.ts'
import { redisStore, type RedisClient } from '../../../redis/index.ts'
import type { UnavailableReason } from '../../../core/errors.ts'
import { epochKey } from '../../../redis/values/keys.ts'
import { reasonOf } from '../../../redis/connection/unavailable-reason.ts'
import type { Reply } from '../connection.ts'
import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { time } from '../../units.ts'

const voice = about('lease', 'docs/protocol.md#steps-and-round-trips')

/** The lifetime of the examination's key if it cannot be deleted, in milliseconds. */
const life = 10_000

/** The meaning of a refusal for a cache, and the page about each. */
const meanings: Partial<Record<UnavailableReason, readonly [todo: string, page: string]>> = {
  full: ['It is full and may not evict.', 'docs/production.md#memory'],
  unsaved: ['It refuses writes because it cannot persist them.', 'docs/production.md#persistence'],
  readOnly: ['It is a replica.', 'docs/production.md#replicas'],
  replicas: ['It refuses writes because too few replicas follow.', 'docs/production.md#replicas'],
  clusterDown: ['The cluster does not cover all slots.', 'docs/redis.md#redis-cluster'],
  rights: ['A right is missing.', 'docs/redis.md#a-user-with-the-least-rights'],
  busy: ['A script of somebody else runs and does not end.', 'docs/production.md#timeouts'],
}

/** Runs one load with the library's own store on a new key, because the scripts make all decisions. */
export async function lease({ connection, key, kind }: Subject): Promise<Finding[]> {
  const client = kind === 'cluster' ? nodeOfCluster(connection.client) : connection.client
  const store = redisStore(client, { wakeUp: 'poll' })
  const token = tokens()
  // The first claim of a namespace creates its epoch, which would stay.
  const epoch = await connection.ask('GET', epochKey(key))
  const startedAt = performance.now()
  const value = { payload: Buffer.from('"doctor"'), ttl: life, grace: 0, loadTime: 0, inlineLimit: 0 }
  const steps = async (): Promise<string> => {
    const first = await store.claim({ key, token: token(), leaseTtl: life })
    if (first.state !== 'lease') return `a claim of a new key was answered with ${first.state}`
    const second = await store.claim({ key, token: token(), leaseTtl: life })
    if (second.state !== 'wait') return `a second claim was answered with ${second.state}`
    second.leave()
    if (!(await store.fill(first.lease, value))) return 'the lease was lost at once'
    const entry = await store.read(key)
    if (entry === null || !entry.payload.equals(value.payload)) return 'the value could not be read back'
    await store.invalidate(key).catch(unlessElsewhere)
    return (await store.read(key)) === null ? '' : 'the value is there after its invalidation'
  }
  const answer = await connection.attempt(steps)
  const took = performance.now() - startedAt
  if ('reply' in epoch && epoch.reply === null) await connection.ask('DEL', epochKey(key))
  if (!('refused' in answer) && answer.reply === '') {
    return [voice.ok(`Claimed, filled, read and invalidated a key in ${time(took)}`)]
  }
  // Cleans up: the key is new, and is deleted or expires.
  await connection.attempt(() => store.invalidate(key))
  return [failed(answer)]
}

/** Treats the connection to one node as one to the cluster, so that data of other slots is requested separately. */
function nodeOfCluster(client: RedisClient): RedisClient {
  return new Proxy(client, {
    get(target, name) {
      if (name === 'isCluster') return true
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** The list of processes with copies may be on another node of the cluster; the value has been deleted already then. */
function unlessElsewhere(error: Error): void {
  if (!error.message.startsWith('MOVED')) throw error
}

function failed(answer: Reply): Finding {
  if (!('refused' in answer)) {
    const todo = 'Something else writes there, or the server does not run scripts as Redis does.'
    return voice.problem(`A load could not be carried out: ${String(answer.reply)}`, todo)
  }
  const what = `A load was refused: ${answer.refused}`
  const [todo, page] = meanings[reasonOf(new Error(answer.refused))] ?? []
  const consequence = 'Until then callers load for themselves, and nothing is stored.'
  const finding = voice.problem(what, todo === undefined ? consequence : `${todo} ${consequence}`)
  return page === undefined ? finding : { ...finding, page }
}
