import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { CacheError, jsonCodec, loadFailure, type Cache } from '../../../src/index.ts'
import { noise, spoilings, type Spoiling } from './bytes.ts'

/** What somebody else left at the key of a value. */
type Value =
  | { readonly is: 'nothing' }
  | { readonly is: 'bytes'; readonly bytes: Buffer }
  /** A value of ours of which something was changed, in the order of time: it was fresh, stale or expired. */
  | { readonly is: 'spoilt'; readonly was: 'fresh' | 'stale'; readonly spoil: Spoiling }
  | { readonly is: 'type'; readonly type: ForeignType }

/** And at the key of its lease. */
type Lease =
  | { readonly is: 'nothing' }
  | { readonly is: 'fields'; readonly fields: readonly (readonly [string, Buffer])[]; readonly ms: number | null }
  | { readonly is: 'type'; readonly type: ForeignType }

type ForeignType = 'string' | 'list' | 'hash' | 'set' | 'sorted set' | 'stream'

export interface Place {
  readonly value: Value
  readonly lease: Lease
  /** How it is done away with. */
  readonly by: 'invalidate' | 'set'
}

const type = fc.constantFrom<ForeignType>('string', 'list', 'hash', 'set', 'sorted set', 'stream')

const value: fc.Arbitrary<Value> = fc.oneof(
  fc.constant<Value>({ is: 'nothing' }),
  noise.map((bytes): Value => ({ is: 'bytes', bytes })),
  noise.map((bytes): Value => ({ is: 'bytes', bytes: Buffer.concat([Buffer.of(177), bytes]) })),
  {
    arbitrary: fc
      .tuple(fc.constantFrom('fresh', 'stale'), spoilings)
      .map(([was, spoil]): Value => ({ is: 'spoilt', was, spoil })),
    weight: 5,
  },
  type.map((foreign): Value => ({ is: 'type', type: foreign })),
)

const number = fc.constantFrom(
  '0',
  '1',
  '-1',
  '1.5',
  '1e300',
  'inf',
  '-inf',
  'nan',
  '0x10',
  '9007199254740993',
  'abc',
  '',
)
const field = fc.oneof(
  fc.tuple(fc.constant('state'), fc.constantFrom('held', 'failed', 'pass', 'HELD', '', 'again')),
  fc.tuple(fc.constant('token'), fc.constantFrom('t'.repeat(16), '', 'short', 'x'.repeat(1_000), '__proto__')),
  fc.tuple(fc.constantFrom('version', 'suspect', 'ttl'), number),
  fc.tuple(fc.constant('inbox'), fc.constantFrom('', 'herdless:inbox:nobody', 'x')),
  fc.tuple(fc.constant('watched'), fc.constantFrom('1', '0', '')),
  fc.tuple(
    fc.constant('error'),
    fc.constantFrom('', '{}', 'null', '{"code":"X"}', `{"message":"${'x'.repeat(3_000)}"}`),
  ),
  fc.tuple(fc.constantFrom('>', '>x', '>herdless:inbox:nobody', 'owner', '__proto__'), fc.constantFrom('', '1')),
)
const fields = fc
  .tuple(
    fc.oneof({ arbitrary: fc.constantFrom('held', 'held', 'failed', 'pass'), weight: 4 }, fc.constant('')),
    fc.array(
      fc.oneof(
        { arbitrary: field, weight: 8 },
        field.chain(([name]) => noise.map((bytes): readonly [string, Buffer] => [name, bytes])),
      ),
      { maxLength: 5 },
    ),
  )
  .map(([state, more]) =>
    [...(state === '' ? [] : [['state', state] as const]), ...more].map(
      ([name, bytes]) => [name, Buffer.from(bytes)] as const,
    ),
  )
const lease: fc.Arbitrary<Lease> = fc.oneof(
  { arbitrary: fc.constant<Lease>({ is: 'nothing' }), weight: 4 },
  {
    arbitrary: fc
      .tuple(fields, fc.option(fc.integer({ min: 1, max: 120 }), { freq: 3 }))
      .filter(([all]) => all.length > 0)
      .map(([all, ms]): Lease => ({ is: 'fields', fields: all, ms })),
    weight: 4,
  },
  type.map((foreign): Lease => ({ is: 'type', type: foreign })),
)

/** What stands at the keys of an entry, by the hand of somebody else. */
export const places: fc.Arbitrary<Place> = fc.record({ value, lease, by: fc.constantFrom('invalidate', 'set') })

/** Where it is left: a value of ours, fresh and stale, to be spoilt, and who comes across it. */
export interface Scene {
  readonly stranger: Redis
  readonly good: Readonly<Record<'fresh' | 'stale', Buffer>>
  readonly one: Cache
  readonly other: Cache
}

/** What is wrong with the answers of caches that find something foreign at the keys of an entry; `null` for nothing. */
export async function wronglyHealed(place: Place, scene: Scene, namespace: string, key: string): Promise<unknown> {
  const { one, other, stranger } = scene
  const bytes = await leave(place, scene, `{${namespace}:${key}}`)
  // A load that begins after the invalidation brings the second.
  let current = 'loaded'
  const ask = (): Promise<PromiseSettledResult<string>[]> =>
    Promise.allSettled([one, one, other].map((cache) => cache.getOrLoad(key, () => current)))
  const first = await ask()
  // Of a value that was spoilt nothing but its bytes says so, unless its format is another.
  const rights = ['loaded', ...(bytes?.[0] === 177 ? decoded(bytes) : [])]
  const isRight = first.every((answer) =>
    answer.status === 'fulfilled'
      ? rights.some((right) => isDeepStrictEqual(right, answer.value))
      : mayFail(place) && isLoadFailure(answer.reason),
  )
  current = 'new'
  await (place.by === 'set' ? other.set(key, current) : other.invalidate(key))
  const second = await ask()
  const isWell = second.every((answer) => answer.status === 'fulfilled' && answer.value === 'new')
  const peeked = await one.peek(key)
  if (isRight && isWell && 'value' in peeked && peeked.value === 'new') return null
  const lease = await stranger.hgetall(`{${namespace}:${key}}:lease`)
  return { key, bytes: bytes?.toString('hex'), held: place.lease, first, second, peeked, lease }
}

/** Whether an error is that of a load, whatever the bytes in the store say of it. */
function isLoadFailure(error: unknown): boolean {
  return loadFailure(error) !== undefined || (error instanceof CacheError && error.code === 'LOAD_FAILED')
}

/** Who can write a lease can say that the load has failed. */
function mayFail({ lease: held }: Place): boolean {
  return held.is === 'fields' && held.fields.some(([name, bytes]) => name === 'state' && bytes.equals(failed))
}

const failed = Buffer.from('failed')
const codec = jsonCodec()

function decoded(bytes: Buffer | null): unknown[] {
  try {
    return bytes === null || bytes.length < 48 ? [] : [codec.decode(bytes.subarray(48))]
  } catch {
    return []
  }
}

/** Returns the bytes at the key of the value, if they are bytes. */
async function leave({ value: left, lease: held }: Place, scene: Scene, key: string): Promise<Buffer | null> {
  const { stranger: client, good } = scene
  const bytes = left.is === 'spoilt' ? left.spoil(good[left.was]) : left.is === 'bytes' ? left.bytes : null
  if (bytes !== null) await client.set(key, bytes)
  if (left.is === 'type') await leaveType(client, key, left.type)
  if (held.is === 'type') await leaveType(client, `${key}:lease`, held.type)
  if (held.is === 'fields') {
    const lease = client.multi().hset(`${key}:lease`, ...held.fields.flat())
    await (held.ms === null ? lease : lease.pexpire(`${key}:lease`, held.ms)).exec()
  }
  return bytes
}

async function leaveType(client: Redis, key: string, foreign: ForeignType): Promise<void> {
  if (foreign === 'string') await client.set(key, 'somebody')
  else if (foreign === 'list') await client.rpush(key, 'a', 'b')
  else if (foreign === 'hash') await client.hset(key, 'owner', 'somebody')
  else if (foreign === 'set') await client.sadd(key, 'a')
  else if (foreign === 'sorted set') await client.zadd(key, 1, 'a')
  else await client.xadd(key, '*', 'a', 'b')
}
