import { expect, test } from 'vitest'
import { checkedErrors, noErrors } from '../../../src/core/codec/portable-error.ts'
import { CacheError, loadFailedError, type Failure } from '../../../src/core/errors.ts'
import { errorForCallers, loadFailure, LoadFailures } from '../../../src/core/load/failures.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const lease = { key: 'k', token: 't1' }

function process(name: string, clock = new FakeClock(), knowledge = noErrors): LoadFailures {
  return new LoadFailures(knowledge, name, clock)
}

/** What the store keeps of a failure. */
function stored(failure: Failure): Failure {
  return JSON.parse(JSON.stringify(failure)) as Failure
}

class NotFoundError extends Error {
  override name = 'NotFoundError'
  readonly status = 404
}

test('another process gets an error like the one that the loader threw, without mark of the cache', () => {
  const failure = process('one').describe(loadFailedError('k', new NotFoundError('no such product')), lease, 1_000)
  const error = process('two').revive(stored(failure), 'k', 1_000)
  expect(error).toMatchObject({ code: 'LOAD_FAILED', key: 'k', message: 'Loading "k" failed: no such product' })
  const given = errorForCallers(error) as Error
  expect(given).toMatchObject({ name: 'NotFoundError', message: 'no such product', status: 404 })
  expect(given).not.toBeInstanceOf(CacheError)
  expect(Object.keys(given)).toEqual(['status'])
  expect(loadFailure(given)).toEqual({ key: 'k', process: 'one', at: failure.at, cooldown: 1_000 })
})

test('an error of a class that both processes know is an instance of it', () => {
  const knowledge = checkedErrors('errors', [NotFoundError])
  const [one, two] = [process('one', undefined, knowledge), process('two', undefined, knowledge)]
  const failure = one.describe(loadFailedError('k', new NotFoundError('gone')), lease, 1_000)
  expect(errorForCallers(two.revive(stored(failure), 'k', 1_000))).toBeInstanceOf(NotFoundError)
})

test('the process whose loader ran gets the very error, as long as it is remembered', async () => {
  const clock = new FakeClock()
  const failures = process('one', clock)
  const thrown = new Error('down')
  const failure = stored(failures.describe(loadFailedError('k', thrown), lease, 1_000))
  expect(errorForCallers(failures.revive(failure, 'k', 1_000))).toBe(thrown)
  await clock.advance(1_000)
  failures.describe(loadFailedError('k2', new Error('other')), { ...lease, key: 'k2', token: 't2' }, 1_000)
  const later = errorForCallers(failures.revive(failure, 'k', 1_000))
  expect(later).not.toBe(thrown)
  expect(later).toMatchObject({ message: 'down' })
})

test('keeps a bounded number of errors, the youngest', () => {
  const failures = process('one')
  const kept = Array.from({ length: 1_500 }, (_, number) => {
    const error = loadFailedError('k', new Error(String(number)))
    return { error, failure: failures.describe(error, { ...lease, token: `t${number}` }, 60_000) }
  })
  const isOwn = ({ error, failure }: (typeof kept)[number]) => failures.revive(failure, 'k', 60_000) === error
  expect(kept.filter(isOwn).length).toBe(1_000)
  expect(kept.slice(500).every(isOwn)).toBe(true)
})

test('an error of the cache itself has no cause and stays what it is', () => {
  const late = new CacheError('LOAD_TIMEOUT', 'Too long', { key: 'k' })
  const error = process('two').revive(stored(process('one').describe(late, lease, 1_000)), 'k', 1_000)
  expect(errorForCallers(error)).toBe(error)
  expect(error).toMatchObject({ code: 'LOAD_TIMEOUT', message: 'Too long', key: 'k' })
  expect(error.cause).toBeUndefined()
  expect(loadFailure(error)).toBeUndefined()
})

test('what is thrown and is no error is told by LOAD_FAILED', () => {
  const error = loadFailedError('k', 'down')
  expect(errorForCallers(error)).toBe(error)
  const revived = process('two').revive(stored(process('one').describe(error, lease, 1_000)), 'k', 1_000)
  expect(revived).toMatchObject({ code: 'LOAD_FAILED', message: 'Loading "k" failed: down' })
  expect(revived.cause).toBeUndefined()
  expect(errorForCallers(revived)).toBe(revived)
})

test('the message of a failure has no credentials and is bounded, also when another program wrote it', () => {
  const error = loadFailedError('k', new Error(`no answer of redis://me:hunter2@host/0 ${'x'.repeat(5_000)}`))
  const failure = process('one').describe(error, lease, 1_000)
  expect(JSON.stringify(failure)).not.toContain('hunter2')
  expect(failure.message.length).toBeLessThan(1_100)
  const written = { code: 'LOAD_FAILED', message: 'x'.repeat(1_000_000), cause: null } as const
  expect(process('two').revive(written, 'k', 1_000).message.length).toBeLessThan(1_100)
})

test('an older version wrote no token, process or time', () => {
  const written: Failure = { code: 'LOAD_FAILED', message: 'm', cause: { name: 'Error', message: 'down' } }
  const given = errorForCallers(process('two').revive(written, 'k', 1_000))
  expect(loadFailure(given)).toEqual({ key: 'k', process: null, at: null, cooldown: 1_000 })
})
