import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { bytes, many, percent } from '../../units.ts'

const voice = about('memory', 'docs/production.md#memory')

/** The memory limit, and the behaviour of a full server. */
export function memory({ facts }: Subject): Finding[] {
  const used = facts.count('used_memory')
  const limit = facts.count('maxmemory') ?? facts.setting('maxmemory')
  const policy = facts.info('maxmemory_policy') ?? facts.config('maxmemory-policy')
  if (limit === undefined || policy === undefined || used === undefined) {
    return [voice.note('Not allowed to look at maxmemory, its policy and what is used')]
  }
  const system = facts.count('total_system_memory')
  if (limit === 0) return [unlimited(used, system)]
  // The buffers of replicas and of the append-only file do not count towards the limit.
  const counted = used - (facts.count('mem_not_counted_for_evict') ?? 0)
  const fill = `${bytes(counted)} of ${bytes(limit)} used (${percent(counted / limit)})`
  const findings = [
    policy === 'noeviction' ? withoutEviction(fill, counted / limit) : withEviction(policy, fill, facts),
  ]
  if (system !== undefined && limit > system) {
    const what = `maxmemory is ${bytes(limit)}, and the system has ${bytes(system)}`
    findings.push(voice.warning(what, 'Lower it: the system kills the server before the limit is reached.'))
  }
  return findings
}

function unlimited(used: number, system: number | undefined): Finding {
  const whole = system === undefined ? '' : ` of the ${bytes(system)} of the system`
  const what = `No limit (maxmemory 0), ${bytes(used)} used${whole}`
  const todo =
    'Set maxmemory and a policy that evicts, such as allkeys-lru: without a limit the system kills a server that grows.'
  return system !== undefined && used > 0.8 * system ? voice.problem(what, todo) : voice.warning(what, todo)
}

function withoutEviction(fill: string, share: number): Finding {
  const todo = 'Set maxmemory-policy to one that evicts, such as allkeys-lru.'
  if (share >= 1) {
    return voice.problem(
      `Full, and nothing is evicted (noeviction): ${fill}`,
      `Writes are refused: what is missing is loaded without a lease and not stored. ${todo}`,
    )
  }
  return voice.warning(
    `Nothing is evicted (noeviction), ${fill}`,
    `When it is full, what is missing is loaded without a lease and not stored. ${todo}`,
  )
}

function withEviction(policy: string, fill: string, facts: Subject['facts']): Finding {
  const evicted = facts.count('evicted_keys') ?? 0
  const what = `${policy}, ${fill}, ${evicted === 0 ? 'nothing' : many(evicted, 'key')} evicted since it was started`
  if (policy.endsWith('-lrm')) {
    return voice.warning(
      what,
      'It evicts what was written longest ago, however often it is read, and so hot values as readily as cold ones. ' +
        'Prefer allkeys-lru or allkeys-lfu.',
    )
  }
  if (policy !== 'volatile-ttl') return voice.ok(what)
  return voice.warning(
    what,
    'It evicts what expires soonest, and those are the leases: loads are voided and run again. ' +
      'Prefer allkeys-lru or allkeys-lfu.',
  )
}
