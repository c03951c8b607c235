import type { Connection } from '../connection.ts'
import { about, type Finding } from '../finding.ts'
import { inboxOf } from './needs.ts'
import type { Subject } from './subject.ts'
import { longestInline } from '../../../core/options/plan.ts'
import { bytes, time } from '../../units.ts'

const voice = about('messages', 'docs/redis.md#connections')

/** The number of messages sent at once: as many as a process receives when that many loads end together. */
const burst = 16

/** One step of the server, like the scripts: all are published before it writes the first to the subscriber. */
const publish = `for _ = 1, ARGV[3] do redis.call('PUBLISH', ARGV[1], ARGV[2]) end`

/** How long they may take, in milliseconds; after more, waiters would have asked again. */
const timeout = 1_000

const withoutThem = "Those who wait ask again, every 350 ms ± 25 %. Mend it, or say so with wakeUp: 'poll'."

/** Whether messages to an inbox arrive, in the size and number that the library sends. */
export async function messages(subject: Subject): Promise<Finding[]> {
  const { connection, connect, settings } = subject
  if (settings.wakeUp === 'poll') return []
  const inbox = inboxOf(`doctor-${subject.key.slice(-16)}`)
  const subscriber = await connect()
  try {
    const subscribed = await subscriber.subscribe(inbox)
    if ('refused' in subscribed) return [voice.problem(`Could not subscribe: ${subscribed.refused}`, withoutThem)]
    const findings = await seen(connection, inbox, subject.kind)
    const startedAt = performance.now()
    const arrival = arrivals(subscriber, burst)
    const message = 'x'.repeat(longestInline)
    const sent = await connection.ask('EVAL', publish, 0, inbox, message, burst)
    if ('refused' in sent) return [voice.problem(`Could not publish: ${sent.refused}`, withoutThem)]
    const arrived = await arrival
    const size = `${burst} messages of ${bytes(longestInline)}`
    findings.push(
      arrived === burst
        ? voice.ok(`${size} at once arrived after ${time(performance.now() - startedAt)}`)
        : voice.problem(`Of ${size} at once, ${arrived} arrived within ${time(timeout)}`, withoutThem),
    )
    return findings
  } finally {
    subscriber.close()
  }
}

/** Whether the server counts subscribers, by which a dead holder is noticed at once. */
async function seen(connection: Connection, inbox: string, kind: Subject['kind']): Promise<Finding[]> {
  // The nodes of a cluster know only their own subscribers, so the library does not ask them.
  if (kind === 'cluster') return []
  const answer = await connection.ask('PUBSUB', 'NUMSUB', inbox)
  if ('reply' in answer && Number((answer.reply as unknown[])[1]) === 1) return []
  const reason = 'refused' in answer ? answer.refused : 'PUBSUB NUMSUB does not count the subscriber'
  const todo = 'The lease of a process that died is taken over when it ends, not at once.'
  return [{ ...voice.warning(`It is not known who listens: ${reason}`, todo), page: 'docs/protocol.md#a-dead-holder' }]
}

/**
 * Resolves with the number of messages that arrived: once all have, or after the timeout or the connection has ended.
 */
function arrivals(subscriber: Connection, expected: number): Promise<number> {
  return new Promise((resolve) => {
    let arrived = 0
    const end = (): void => {
      clearTimeout(timer)
      resolve(arrived)
    }
    const timer = setTimeout(end, timeout)
    const message = (): void => {
      if (++arrived === expected) end()
    }
    subscriber.listen(message, end)
  })
}
