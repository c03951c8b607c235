import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { CacheError, loadFailure, type Cache } from '../../../src/index.ts'
import { noise } from './bytes.ts'

/** A message as a stranger would send it. */
export interface Message {
  /** @param token that of the load which is under way, for those who have got hold of it */
  readonly bytes: (token: string) => Buffer
  /** Whether it is an error in the name of that load, which then is an answer like any other. */
  readonly isError: boolean
}

const kind = fc.constantFrom('v', 'r', 'f', 'p', 'a')
const guessed = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'abcXYZ019_-'.split('')), minLength: 16, maxLength: 16 }),
  fc.constantFrom('undefined       ', '__proto__       ', '\0'.repeat(16), '0000000000000000'),
)
const long = { message: 'x'.repeat(5_000), cause: { name: 'y'.repeat(5_000), message: 'z', code: 'c'.repeat(5_000) } }
const errors = [
  ['', '{}', 'null', '[]', '"', '{"code":"LOAD_FAILED"}', '{"code":"nonsense","message":5,"cause":[]}'],
  ['{"__proto__":{"polluted":1}}', '{"message":"a","cause":{"name":"__proto__","message":"b","code":{}}}'],
  ['{"message":"a","cause":{"name":"b","message":"c","code":{"d":[]}}}', JSON.stringify(long), JSON.stringify(long)],
].flat()
const body = fc.oneof(
  noise,
  fc.constantFrom(...errors).map((text) => Buffer.from(text)),
  fc.uint8Array({ minLength: 48, maxLength: 48 }).map((bytes) => Buffer.from(bytes).fill(177, 0, 1)),
  fc.constant(null).map(() => Buffer.alloc(20_000, 'x')),
)

const nobodys: fc.Arbitrary<Buffer> = fc.oneof(
  noise,
  fc.tuple(kind, noise).map(([letter, bytes]) => Buffer.concat([Buffer.from(letter), bytes.subarray(0, 15)])),
  fc.tuple(kind, guessed, body).map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))),
)

/**
 * Messages that no script sends: noise; of the right form, but about a load that nobody knows; and about the load that
 * is under way. None holds a value that can be decoded: who knows the token and may publish can give an answer.
 */
export const messages: fc.Arbitrary<Message> = fc.oneof(
  { arbitrary: nobodys.map((bytes) => ({ bytes: () => bytes, isError: false })), weight: 4 },
  fc.tuple(fc.constantFrom('f', 'v', 'r', 'f', 'p', 'a', 'f', 'x', '\0'), body).map(([letter, rest]) => ({
    bytes: (token: string) => Buffer.concat([Buffer.from(letter + token), rest]),
    isError: letter === 'f',
  })),
)

/** A cache that loads, one that waits for it, and a stranger who knows their inboxes. */
export interface Scene {
  readonly holder: Cache
  readonly waiter: Cache
  readonly stranger: Redis
  readonly inboxes: readonly string[]
}

/** What is wrong with the answers that callers get while a stranger sends messages; `null` for nothing. */
export async function wronglyTold(
  all: readonly Message[],
  scene: Scene,
  namespace: string,
  key: string,
): Promise<unknown> {
  const { holder, waiter, stranger, inboxes } = scene
  let finish!: () => void
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const loader = async (): Promise<string> => {
    await finished
    return key
  }
  const begun = heard(holder, 'load')
  const calls = [holder.getOrLoad(key, loader)]
  await begun
  const waits = heard(waiter, 'wait')
  calls.push(waiter.getOrLoad(key, loader), waiter.getOrLoad(key, loader))
  await waits
  const settled = Promise.allSettled(calls)
  const token = (await stranger.hget(`{${namespace}:${key}}:lease`, 'token')) ?? ''
  const pipeline = stranger.pipeline()
  for (const { bytes } of all) for (const inbox of inboxes) pipeline.publish(inbox, bytes(token))
  await pipeline.exec()
  finish()
  const late = pause(60_000, 'no answer', { ref: false })
  const answers = await Promise.race([settled, late])
  if (typeof answers === 'string') return answers
  const mayFail = all.some(({ isError }) => isError)
  const wrong = answers.filter((answer) =>
    answer.status === 'fulfilled' ? answer.value !== key : !mayFail || !isBounded(answer.reason),
  )
  return wrong.length === 0 ? null : wrong
}

/** Whether an error is one of ours, none of its texts being longer than what may cross processes. */
function isBounded(error: unknown): boolean {
  if (loadFailure(error) === undefined && !(error instanceof CacheError)) return false
  const { name, message, code } = error as Record<string, unknown>
  return [name, message, code].every((text) => typeof text !== 'object' && `${text as string}`.length <= 1_001)
}

function heard(cache: Cache, name: 'load' | 'wait'): Promise<void> {
  return new Promise((resolve) => {
    const off = cache.on(name, () => {
      off()
      resolve()
    })
  })
}
