/** What the doctor says of servers that cannot be had here: by what such a server would say of itself. */
import { describe, expect, test } from 'vitest'
import { access } from '../../src/cli/doctor/checks/access.ts'
import { Facts, linesIn } from '../../src/cli/doctor/facts.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { memory } from '../../src/cli/doctor/checks/memory.ts'
import { persistence } from '../../src/cli/doctor/checks/persistence.ts'
import { rights } from '../../src/cli/doctor/checks/rights.ts'
import { canBeExamined, server } from '../../src/cli/doctor/checks/server.ts'
import type { Subject } from '../../src/cli/doctor/checks/subject.ts'
import { clock, clocks, roundTrip, type Timing } from '../../src/cli/doctor/checks/timing.ts'
import { bytes, time } from '../../src/cli/units.ts'

const settings = {
  namespace: 'shop',
  wakeUp: 'push',
  leaseTtl: 10_000,
  commandTimeout: 500,
} as const

/** A server that says this of itself; the lines of INFO, and those of HELLO. */
function said(info: string, hello: Record<string, string> = {}, config: Record<string, string> = {}): Subject {
  const facts = new Facts({
    info: linesIn(info),
    hello: new Map(Object.entries(hello)),
    config: new Map(Object.entries(config)),
  })
  return { facts, settings, kind: 'server' } as unknown as Subject
}

function levels(findings: readonly Finding[]): string[] {
  return findings.map(({ level }) => level)
}

describe('of its version', () => {
  test.for([
    ['redis_version:6.2.0', 'ok', 'Redis 6.2.0'],
    ['redis_version:6.2.14', 'ok', 'Redis 6.2.14'],
    ['redis_version:7.0.15', 'ok', 'Redis 7.0.15'],
    ['redis_version:10.0.0', 'ok', 'Redis 10.0.0'],
    ['redis_version:6.0.16', 'problem', 'Redis 6.0.16: older than 6.2'],
    ['redis_version:5.0.14', 'problem', 'Redis 5.0.14: older than 6.2'],
    ['redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1', 'ok', 'Valkey 8.0.1'],
    [
      'redis_version:7.2.4\r\ndragonfly_version:df-1.20',
      'warning',
      'Dragonfly df-1.20, which herdless is not tested with',
    ],
    [
      'redis_version:6.3.4\r\nexecutable:/usr/bin/keydb-server',
      'warning',
      'KeyDB 6.3.4, which herdless is not tested with',
    ],
    ['', 'note', 'Redis of unknown version'],
  ] as const)('%j is judged a %s', ([info, level, what]) => {
    const findings = server(said(info))
    expect(findings).toMatchObject([{ level, what }])
    expect(canBeExamined(findings)).toBe(level !== 'problem')
  })

  test('HELLO tells it where INFO is forbidden', () => {
    expect(server(said('', { server: 'redis', version: '6.0.16' }))).toMatchObject([{ level: 'problem' }])
    expect(server(said('', { server: 'valkey', version: '8.1.0' }))).toMatchObject([
      { level: 'ok', what: 'Valkey 8.1.0' },
    ])
  })

  test('a server that loads its data is not examined further', () => {
    const findings = server(said('redis_version:7.0.15\r\nloading:1'))
    expect(findings).toMatchObject([{ level: 'problem', what: expect.stringContaining('it is loading its data') }])
    expect(canBeExamined(findings)).toBe(false)
  })
})

describe('of its memory', () => {
  const limited = 'maxmemory_policy:noeviction\r\nmaxmemory:1000\r\ntotal_system_memory:10000\r\n'

  test('what is kept for replicas and for the append-only file does not count', () => {
    expect(memory(said(`${limited}used_memory:1200`))).toMatchObject([{ level: 'problem' }])
    expect(memory(said(`${limited}used_memory:1200\r\nmem_not_counted_for_evict:300`))).toMatchObject([
      { level: 'warning', what: 'Nothing is evicted (noeviction), 900 bytes of 1000 bytes used (90 %)' },
    ])
  })

  test.each(['allkeys-lrm', 'volatile-lrm', 'volatile-ttl'])(
    'a policy that does not go by reads, %s, is warned of',
    (policy) => {
      const findings = memory(said(`maxmemory_policy:${policy}\r\nmaxmemory:1000\r\nused_memory:10`))
      expect(findings).toMatchObject([{ level: 'warning', what: expect.stringContaining(policy) }])
    },
  )

  test('a server without a limit that has taken most of the system is a problem', () => {
    const unlimited = 'maxmemory_policy:noeviction\r\nmaxmemory:0\r\ntotal_system_memory:10000\r\n'
    expect(levels(memory(said(`${unlimited}used_memory:8001`)))).toEqual(['problem'])
    expect(levels(memory(said(`${unlimited}used_memory:7999`)))).toEqual(['warning'])
  })
})

test('of a server whose engine for scripts is a module that is not loaded, it says so', async () => {
  const refused = "ERR Could not find scripting engine 'lua'"
  const ask = async (command: string): Promise<object> =>
    /^(EVAL|SCRIPT)$/.test(command) ? { refused } : { reply: 'OK' }
  const connection = { ask, text: async () => 'default', user: 'default' }
  const subject = { ...said(''), settings: { ...settings, wakeUp: 'poll' }, connection, key: 'k', aclUser: null }
  const findings = await rights({ ...subject, database: 0 } as unknown as Subject)
  expect(findings[0]).toMatchObject({
    level: 'problem',
    what: 'The server has no engine for scripts in Lua (a module of Valkey, which is not loaded)',
  })
})

test.for([
  ['aof_enabled:0\r\nlatest_fork_usec:250001', { save: '' }, 'warning'],
  ['aof_enabled:0\r\nlatest_fork_usec:250000', { save: '' }, 'ok'],
  ['aof_enabled:1\r\naof_last_write_status:err', { appendfsync: 'always' }, 'problem'],
] as const)('of its persistence: %j with %j is judged a %s', ([info, config, level]) => {
  expect(levels(persistence(said(info, {}, config)))).toEqual([level])
})

describe('of the time', () => {
  const subject = said('')
  const timing = (worst: number, ahead = 0): Timing => ({ median: 1, worst, offset: { ahead, exactly: 10 } })

  test('the round trip is judged by commandTimeout and by leaseTtl', () => {
    const level = (worst: number, own: Partial<Subject['settings']> = {}): string[] =>
      levels(roundTrip({ ...subject, settings: { ...settings, ...own } }, timing(worst)))
    expect(level(249)).toEqual(['ok'])
    expect(level(250)).toEqual(['warning'])
    expect(level(500)).toEqual(['problem'])
    expect(level(101, { leaseTtl: 300 })).toEqual(['warning'])
    expect(level(99, { leaseTtl: 300 })).toEqual(['ok'])
  })

  test('a clock that is a second off is a note, if it is known so exactly', () => {
    expect(clock(timing(1, 1_009))).toMatchObject([{ level: 'ok' }])
    expect(clock(timing(1, 1_011))).toMatchObject([{ level: 'note', what: expect.stringMatching(/^1 s ahead of/) }])
    expect(clock(timing(1, -1_011))).toMatchObject([{ level: 'note', what: expect.stringMatching(/^1 s behind/) }])
    expect(clock({ ...timing(1), offset: null })).toMatchObject([{ level: 'note' }])
  })

  test('clocks of a cluster that are a second apart are a warning', () => {
    const nodes = (first: number, second: number): Map<string, Timing> =>
      new Map([
        ['a:1', timing(1, first)],
        ['b:2', timing(1, second)],
      ])
    expect(clocks(nodes(-500, 519))).toMatchObject([{ level: 'ok' }])
    expect(clocks(nodes(-500, 521))).toMatchObject([
      { level: 'warning', what: expect.stringMatching(/1 s apart.*: b:2 is ahead of a:1$/) },
    ])
    expect(clocks(new Map([['a:1', timing(1, 0)]]))).toEqual([])
  })
})

test.for([
  [{ host: '10.0.0.7', port: 6379 }, false, false, ['warning', 'note']],
  [{ host: '10.0.0.7', port: 6379 }, false, true, ['note']],
  [{ host: '10.0.0.7', port: 6379 }, true, false, ['warning']],
  [{ host: '10.0.0.7', port: 6379 }, true, true, ['ok']],
  [{ host: '::1', port: 6379 }, false, false, ['ok']],
  [{ path: '/run/redis.sock' }, false, false, ['ok']],
] as const)('of the way to %j, encrypted %s, with a password %s', ([address, encrypted, password, expected]) => {
  expect(levels(access({ address, encrypted, password }))).toEqual(expected)
})

test('figures have a unit and no more digits than they need', () => {
  const sizes = [0, 1023, 1024, 1536, 102_400, 5 * 2 ** 30, 2 ** 50]
  expect(sizes.map(bytes).join(', ')).toBe('0 bytes, 1023 bytes, 1.0 KiB, 1.5 KiB, 100 KiB, 5.0 GiB, 1024 TiB')
  const times = [0.123, 42.4, 999, 1_000, 1_549, 10_000, 599_000, 600_000, 36_000_000, 864_000_000]
  expect(times.map(time).join(', ')).toBe('0.12 ms, 42 ms, 999 ms, 1 s, 1.5 s, 10 s, 599 s, 10 min, 10 h, 10 days')
})
