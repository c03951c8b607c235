import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { many, time } from '../../units.ts'
import { valueKey } from '../../../redis/values/keys.ts'

const voice = about('replicas', 'docs/production.md#replicas')

/** How long WAIT waits for a replica, in milliseconds; a slower replica lags behind. */
const longestWait = 1_000

/** The longest silence of a replica, in seconds. */
const mostLag = 10

/** Whether the server accepts writes, and which replicas have them. */
export async function replicas(subject: Subject): Promise<Finding[]> {
  const { facts } = subject
  const role = facts.info('role') ?? facts.hello('role')
  if (role === 'slave' || role === 'replica') {
    const host = facts.info('master_host')
    const what = `A replica${host === undefined ? '' : ` of ${host}:${facts.info('master_port')}`}`
    const todo = 'Writes are refused here: give the application the master, or the sentinels, which know it.'
    return [voice.problem(what, todo)]
  }
  const connected = facts.count('connected_slaves')
  if (connected === undefined) return [voice.note('Not allowed to look at the replicas')]
  const findings: Finding[] = []
  const following = facts.infos(/^slave\d+$/).map(fieldsIn)
  const good = following.filter(({ state, lag }) => state === 'online' && Number(lag) <= mostLag).length
  const least = facts.setting('min-replicas-to-write') ?? 0
  const enough = facts.count('min_slaves_good_slaves') ?? good
  if (least > enough) {
    const there = `there ${enough === 1 ? 'is' : 'are'} ${enough}`
    const what = `Writes need ${many(least, 'replica')} (min-replicas-to-write), and ${there}`
    findings.push(voice.problem(what, 'All writes are refused (NOREPLICAS) until there are enough.'))
  }
  if (good < connected) {
    const states = following.map(({ ip, port, state, lag }) => `${ip}:${port} ${state}, silent for ${lag} s`)
    findings.push(
      voice.warning(
        `Of ${many(connected, 'replica')}, ${good} ${good === 1 ? 'follows' : 'follow'}: ${states.join('; ')}`,
        'A failover to one that is behind loses leases and invalidations.',
      ),
    )
  }
  if (connected > 0) findings.push(await acknowledged(subject, connected))
  if (connected === 0 && findings.length === 0) {
    const todo = 'When this server dies, the cache is away until it is back. Callers are answered all the same.'
    findings.push(voice.note('None', todo))
  }
  return findings
}

/** Whether a replica acknowledges a write within a second. */
async function acknowledged({ connection, key }: Subject, connected: number): Promise<Finding> {
  const name = valueKey(key)
  const written = await connection.ask('SET', name, '', 'PX', 5_000)
  if ('refused' in written)
    return voice.note(`${connected} connected; a write to wait for was refused`, written.refused)
  const askedAt = performance.now()
  const answer = await connection.ask('WAIT', 1, longestWait)
  const took = performance.now() - askedAt
  await connection.ask('DEL', name)
  if ('refused' in answer) return voice.note(`${connected} connected; not allowed to WAIT for them`, answer.refused)
  if (Number(answer.reply) > 0) {
    return voice.ok(`${connected} connected, a write was acknowledged after ${time(took)} (WAIT 1)`)
  }
  return voice.warning(
    `${connected} connected, none of which acknowledged a write within ${time(longestWait)} (WAIT 1)`,
    'What a failover would lose is at least that: leases, values and invalidations.',
  )
}

function fieldsIn(line: string): Record<string, string> {
  return Object.fromEntries(line.split(',').map((field) => field.split('=')))
}
