import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { startProxy } from '../support/proxy.ts'
import { missingFor, startRedis } from '../support/servers.ts'
import { doc } from '../docs/markdown.ts'
import { checksWith, examined, herdless, herdlessIn, installed, type Library } from './doctor.ts'

const libraries: readonly Library[] = ['ioredis', 'redis']

const withoutTls = await missingFor('tls')

/** A frozen server is given up after its patience, twice at most, and a process needs a moment to start. */
const bounded = 10_000

describe('on a server that is as it should be', () => {
  const args = ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru']

  test('the doctor finds no problem and no warning, and leaves nothing behind', async () => {
    await using server = await startRedis({ args })
    await server.client.set('{shop:mine}', 'stays')
    const { code, told } = await examined(server.url, '--namespace', 'shop', '--command-timeout', '30s')
    expect(code).toBe(0)
    expect(checksWith(told, 'problem')).toEqual([])
    expect(checksWith(told, 'warning')).toEqual([])
    expect(checksWith(told, 'ok').join(', ')).toBe(
      'server, access, round trip, clock, rights, locks, lease, messages, memory, persistence, connections, slow commands',
    )
    expect(checksWith(told, 'note')).toEqual(['replicas'])
    expect(await server.client.keys('*')).toEqual(['{shop:mine}'])
    expect(await server.client.pubsub('CHANNELS', '*')).toEqual([])
  })

  test('everything that the doctor writes stands under a key of its own, and expires', async () => {
    await using server = await startRedis({ args })
    const written: string[][] = []
    const monitor = await server.client.monitor()
    monitor.on('monitor', (_time: string, [name = '', ...rest]: string[]) =>
      written.push([name.toLowerCase(), ...rest]),
    )
    await examined(server.url, '--namespace', 'shop')
    await server.client.echo('the end')
    await expect.poll(() => written.at(-1)).toEqual(['echo', 'the end'])
    monitor.disconnect()
    const keyed = written.filter(([name = '']) => /^(set|hset|pexpire|del|hdel)$/.test(name))
    expect(keyed.map(([name]) => name)).toEqual(expect.arrayContaining(['set', 'hset', 'del', 'pexpire']))
    const own =
      /^(\{shop:\}|\{shop:doctor:[\w-]{16}\}(:lease)?|lock:shop:doctor:[\w-]{16}|\{lock:shop:doctor:[\w-]{16}\}:queue)$/
    for (const [, key] of keyed) expect(key).toMatch(own)
    // What is tried without an effect has no PX, and no effect.
    for (const set of keyed.filter(([name]) => name === 'set')) expect(set.join(' ')).toMatch(/ PX \d+$|  herdless$/i)
    const leases = keyed.filter(([name, key = '']) => name === 'hset' && key.endsWith(':lease')).map(([, key]) => key)
    const expiring = keyed.filter(([name]) => name === 'pexpire').map(([, key]) => key)
    expect(expiring).toEqual(expect.arrayContaining(leases))
  })

  test('the URL may come from REDIS_URL, and the server may listen on a socket', async () => {
    await using server = await startRedis({ args, listen: 'socket' })
    const { code, out } = await herdless(['doctor'], { REDIS_URL: server.url })
    expect(out).toContain('Over a socket')
    expect(code).toBe(0)
  })

  test('it reads for people as the page shows it', async () => {
    const page = doc('docs/production.md')
    const [shown] = page.blocks.filter(({ info }) => info === 'from=doctor')
    await using server = await startRedis()
    const { out } = await herdless(['doctor', '--command-timeout', '30s', server.url])
    expect(figuresAside(out)).toBe(figuresAside(shown?.code ?? ''))
  })
})

/** The text without what differs from run to run and from machine to machine. */
function figuresAside(text: string): string {
  return text
    .trim()
    .replaceAll(/file:\S+(?=\/docs\/)/g, 'file:…')
    .replaceAll(/\b\d[\d.]*( (ms|s|min|h|days|bytes|KiB|MiB|GiB|TiB))?/g, '…')
    .replaceAll(/… (behind|ahead of) this machine/g, '… off')
}

describe('a server that cannot be examined ends the doctor with 2', () => {
  test('because nobody listens there', async () => {
    const { code, err, took } = await herdless(['doctor', 'redis://:geheim@127.0.0.1:1'])
    expect(err).toMatch(
      /^Nothing could be examined: 127\.0\.0\.1:1: The store refuses connections: connect ECONNREFUSED \S+\. Nothing listens there: start a Redis/,
    )
    expect(err).not.toContain('geheim')
    expect(code).toBe(2)
    expect(took).toBeLessThan(bounded)
  })

  test('because it is frozen, in bounded time', async () => {
    await using server = await startRedis()
    await server.freeze()
    const { code, err, took } = await herdless(['doctor', server.url])
    expect(err).toMatch(/^Nothing could be examined: 127\.0\.0\.1:\d+: /)
    expect(code).toBe(2)
    expect(took).toBeLessThan(bounded)
  })

  test('because it freezes in the midst of it, in bounded time', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const asked = proxy.stopAt('time')
    const ending = herdless(['doctor', `redis://${proxy.host}:${proxy.port}`])
    await asked
    const { code, err, took } = await ending
    expect(err).toMatch(
      /^Nothing could be examined: 127\.0\.0\.1:\d+: The store did not answer in time: Command timed out/,
    )
    expect(code).toBe(2)
    expect(took).toBeLessThan(bounded)
  })

  test('because the password is wrong, or missing', async () => {
    await using server = await startRedis()
    await server.client.config('SET', 'requirepass', 'right')
    const wrong = await herdless(['doctor', `redis://:geheim@127.0.0.1:${server.port}`])
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringContaining('WRONGPASS') as string })
    expect(wrong.err).not.toContain('geheim')
    const missing = await herdless(['doctor', server.url])
    expect(missing).toMatchObject({ code: 2, out: '', err: expect.stringContaining('NOAUTH') as string })
    const right = await herdless(['doctor', `redis://:right@127.0.0.1:${server.port}`])
    expect(right).toMatchObject({ code: 0, err: '' })
    expect(right.out).toContain('with a password')
    expect(right.out).not.toContain('right@')
  })

  test('because it is something else, whose answer holds the password', async () => {
    const stranger = createServer((socket) => {
      socket.on('data', (bytes) =>
        socket.write(`-ERR unknown command, with args ${bytes.toString().replaceAll(/\s+/g, ' ')}\r\n`),
      )
      socket.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const url = `redis://shop:ge%68eim@127.0.0.1:${(stranger.address() as AddressInfo).port}`
    for (const json of [[], ['--json']]) {
      const { code, out, err } = await herdless(['doctor', url, ...json])
      expect(code).toBe(2)
      expect(out + err).toContain('***')
      expect(out + err).not.toMatch(/geheim|ge%68eim/)
    }
    stranger.close()
  })

  test('and tells a program so', async () => {
    const { code, out } = await herdless(['doctor', '--json', 'redis://127.0.0.1:1'])
    expect(JSON.parse(out)).toEqual({
      herdless: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
      error: expect.stringContaining('ECONNREFUSED') as string,
    })
    expect(code).toBe(2)
  })
})

describe('a command line', () => {
  test.for([
    [['nobody'], "Unknown command 'nobody'. `herdless help` says more."],
    [['doctr'], "Unknown command 'doctr' (Did you mean doctor?). `herdless help` says more."],
    [['redis://:geheim@host'], "Unknown command '…'"],
    [['redis:geheim'], "Unknown command '…'"],
    [['doctor'], 'Expected the URL of a Redis'],
    [['doctor', 'http://:geheim@host'], 'Expected a URL such as redis://'],
    [['doctor', 'redis://:geheim@ho st'], 'Expected a URL such as redis://'],
    [['doctor', 'redis://one', 'redis://:geheim@two'], 'Expected one URL, got 2'],
    [['doctor', 'redis://one', '--geheim'], "Unknown option '--geheim'"],
    [['doctor', '--no-such=redis://:geheim@host'], "Unknown option '…'"],
    [['doctor', '--wake-up=redis://:geheim@host'], "Option '--wake-up <way>' argument '…' is invalid"],
    [
      ['doctor', '--namespcae', 'shop'],
      "Unknown option '--namespcae' (Did you mean --namespace?). `herdless help doctor` says more.",
    ],
    [
      ['doctor', 'redis://one', '--lease-ttl', '5'],
      'Expected --lease-ttl to be a time with its unit, such as 500ms or 5s, got "5".',
    ],
    [['doctor', 'redis://one', '--command-timeout', '5 s'], 'Expected --command-timeout to be a time with its unit'],
    [['doctor', 'localhost'], 'Expected a URL such as redis://'],
    [['doctor', 'geheim@localhost:6379'], 'Expected a URL such as redis://'],
    [['doctor', 'redis://one', '--namespace', 'a{b'], 'Expected `namespace` to be'],
    [
      ['doctor', 'redis://one', '--wake-up', 'shout'],
      "Option '--wake-up <way>' argument 'shout' is invalid. Allowed choices are push, poll",
    ],
    [['doctor', 'redis://one', '--cluster', '--sentinel', 'x'], 'Expected --cluster or --sentinel, got both'],
    [['doctor', 'rediss://one', '--tls-ca', '/no/such/file'], 'Expected --tls-ca to name a file'],
  ] as const)('%s is refused with 2', async ([args, message]) => {
    const { code, out, err } = await herdless(args)
    expect(err).toContain(`herdless: ${message}`)
    expect(err.split('\n')).toHaveLength(2)
    expect(err).not.toContain(':geheim')
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  test('without a command is answered with the help, and 2', async () => {
    const { out } = await herdless(['--help'])
    expect(await herdless([])).toMatchObject({ code: 2, out: '', err: out })
  })

  test.for([['--version'], ['--help']])('%s is answered with 0', async (args) => {
    const { code, out, err } = await herdless(args)
    expect(out).toMatch(args[0] === '--version' ? /^\d+\.\d+\.\d+\n$/ : /^Usage: herdless/)
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
})

describe('the client library of the application', () => {
  test.for(libraries)('may be %s', async (library) => {
    await using server = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'] })
    const folder = await installed(library)
    const { code, out, err } = await herdlessIn(folder, ['doctor', `localhost:${server.port}`])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('User default has all rights')
    expect(out).toMatch(/16 messages of .* at once arrived/)
    expect(out).toContain('Claimed, filled, read and invalidated a key')
    const pages = pathToFileURL(join(await realpath(dirname(folder)), 'docs'))
    expect(out).toContain(` ${pages.href}/production.md#replicas\n`)
  })

  test.for(libraries)('may be %s to say why a server is not examined', async (library) => {
    await using server = await startRedis({ password: 'right' })
    const folder = await installed(library)
    const asked = async (command: string, url: string, ...rest: string[]): Promise<string> => {
      const { code, err } = await herdlessIn(folder, [command, url, ...rest])
      expect(code).toBe(2)
      return err
    }
    const wrong = `redis://:geheim@127.0.0.1:${server.port}`
    const missing = `redis://127.0.0.1:${server.port}`
    const why =
      /^(Nothing could be examined: 127\.0\.0\.1:\d+|herdless: Nobody could be asked): The store refuses the user/
    for (const url of [wrong, missing]) {
      const [doctor, explain] = await Promise.all([asked('doctor', url), asked('explain', url, 'key')])
      for (const err of [doctor, explain]) {
        expect(err).toMatch(why)
        expect(err).toMatch(url === wrong ? /: WRONGPASS/ : /: NOAUTH/)
        expect(err).toMatch(
          /\. Give the user and the password in the URL, redis:\/\/user:password@host:6379, or in REDIS_URL/,
        )
        expect(err).not.toContain('geheim')
      }
    }
  })

  describe.skipIf(withoutTls !== undefined)('on a server with TLS', () => {
    test.for(['ioredis', 'redis'] as const)('may be %s to notice that, and the other way round', async (library) => {
      await using secure = await startRedis({ tls: true })
      await using plain = await startRedis()
      const folder = await installed(library)
      const errors = async (url: string): Promise<string[]> => {
        const ended = [herdlessIn(folder, ['doctor', url]), herdlessIn(folder, ['explain', url, 'key'])]
        return (await Promise.all(ended)).map(({ err }) => err)
      }
      for (const err of await errors(`redis://127.0.0.1:${secure.port}`)) expect(err).toContain('begins with rediss://')
      for (const err of await errors(`rediss://127.0.0.1:${plain.port}`)) expect(err).toContain('begins with redis://')
      for (const err of await errors(`rediss://127.0.0.1:${secure.port}`)) {
        expect(err).toMatch(/The store has a certificate that is not accepted: self-signed .* --tls-ca/)
      }
    })
  })

  test('is asked for where there is none', async () => {
    const folder = await installed(null)
    const { code, err } = await herdlessIn(folder, ['doctor', 'redis://localhost'])
    expect(err).toContain('The doctor needs ioredis or node-redis: `npm install ioredis`, or `npm install redis`')
    expect(code).toBe(2)
  })
})
