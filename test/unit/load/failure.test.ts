import { describe, expect, test } from 'vitest'
import { loadFailure } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, answersOf } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

const down = Object.assign(new Error('terminating connection'), { name: 'DatabaseError', code: '57P01' })

function failedWith(message: string) {
  return { state: 'error', error: { message } }
}

describe('a load that fails', () => {
  test('fails once for all who waited for it, in every process (rule 5)', async () => {
    const { all } = fleet()
    const source = new Source<string>()
    const answers = answersOf(
      all.flatMap((cache) => Array.from({ length: 5 }, () => cache.getOrLoad('k', source.loader))),
    )
    await settled()
    source.run(0).reject(down)
    await settled()
    expect(answers).toHaveLength(15)
    for (const answer of answers) {
      const error = { name: 'DatabaseError', message: 'terminating connection', code: '57P01' }
      expect(answer).toMatchObject({ state: 'error', error })
    }
    expect(source.runs).toHaveLength(1)
  })

  test("gives the process of the loader its very error, and the others one that has no stack of the loader's", async () => {
    const { a, b } = fleet()
    const source = new Source<string>()
    const answers = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await settled()
    source.run(0).reject(down)
    await settled()
    const [here, there] = answers.map((answer) => (answer as { error: Error }).error)
    expect(here).toBe(down)
    for (const error of [here, there]) expect(loadFailure(error)).toMatchObject({ key: 'k', cooldown: 1_000 })
    expect(there).toBeInstanceOf(Error)
    expect(there?.stack).not.toContain('failure.test')
  })

  test('is not tried again until its cool-down has ended, in any process (rule 5)', async () => {
    const { a, b, clock } = fleet({ failureCooldown: '2s' })
    let count = 0
    const loader = () => {
      throw new Error(`failure ${++count}`)
    }
    expect(answerOf(a.getOrLoad('k', loader))).toBeDefined()
    await clock.advance(1_999)
    const answers = answersOf([a.getOrLoad('k', loader), b.getOrLoad('k', loader)])
    await settled()
    expect(answers).toMatchObject([failedWith('failure 1'), failedWith('failure 1')])
    await clock.advance(1)
    expect(await b.getOrLoad('k', () => 'well again')).toBe('well again')
    expect(await a.getOrLoad('k', loader)).toBe('well again')
    expect(count).toBe(1)
  })

  test('is tried again by the next caller when there is no cool-down', async () => {
    const { a, b } = fleet({ failureCooldown: 0 })
    await expect(a.getOrLoad('k', () => Promise.reject(down))).rejects.toThrow(down)
    expect(await b.getOrLoad('k', () => 'v')).toBe('v')
  })

  test('is tried again at once after an invalidation or a set', async () => {
    const { a, b } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject(down))).rejects.toThrow(down)
    await b.invalidate('k')
    await expect(a.getOrLoad('k', () => Promise.reject(new Error('again')))).rejects.toThrow('again')
    await b.set('k', 'set')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('set')
  })

  test('leaves what others wait for at the time alone: a failure of one key is none of another', async () => {
    const { a } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject(down))).rejects.toThrow(down)
    expect(await a.getOrLoad('l', () => 'v')).toBe('v')
  })

  test('is not the answer of those who ask once it has ended: they may know that the source is well again (rule 4)', async () => {
    const { a, ways } = fleet({ failureCooldown: 0 })
    const source = new Source<string>()
    const letGo = ways.a.hold('fail', 'after')
    const before = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    source.run(0).reject(down)
    await settled()
    const after = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    letGo()
    await settled()
    expect(before).toMatchObject(failedWith('terminating connection'))
    source.run(1).resolve('v')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'v' })
  })

  test('and is learnt of by asking again is the answer of those who waited by then, and of no other (rules 4 and 6)', async () => {
    const { a, b, ways, clock } = fleet({ failureCooldown: 0 })
    ways.b.messages = 'lost'
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    const before = answerOf(b.getOrLoad('k', source.loader))
    await settled()
    source.run(0).reject(down)
    await settled()
    const after = answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(500)
    expect(before).toMatchObject(failedWith('terminating connection'))
    source.run(1).resolve('v')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'v' })
    expect(source.runs).toHaveLength(2)
  })

  test('and was voided by an invalidation fails nobody: its callers get what the next load brings (rule 2)', async () => {
    const { a, b, ways } = fleet()
    ways.a.messages = 'lost'
    const source = new Source<string>()
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    await b.invalidate('k')
    source.run(0).reject(down)
    await settled()
    source.run(1).resolve('v')
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })

  test('while the store falls silent still fails those who waited', async () => {
    const { a, ways, clock } = fleet()
    const source = new Source<string>()
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'silent'
    source.run(0).reject(down)
    await clock.advance(500)
    expect(answer).toMatchObject(failedWith('terminating connection'))
  })
})

describe('a value that cannot be stored', () => {
  test('fails for all with VALUE_NOT_SERIALIZABLE (rule 5)', async () => {
    const { all } = fleet()
    const source = new Source()
    const answers = answersOf(all.map((cache) => cache.getOrLoad('k', source.loader)))
    await settled()
    source.run(0).resolve(() => 'a function')
    await settled()
    expect(answers).toMatchObject(
      Array.from({ length: 3 }, () => ({ error: { code: 'VALUE_NOT_SERIALIZABLE', key: 'k' } })),
    )
    expect(source.runs).toHaveLength(1)
  })

  test('fails for all with VALUE_TOO_LARGE when it is larger than allowed (rule 5)', async () => {
    const { a, b } = fleet({ maxValueSize: 10 })
    const source = new Source()
    const answers = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await settled()
    source.run(0).resolve('12345678+')
    await settled()
    expect(answers).toMatchObject([
      { error: { code: 'VALUE_TOO_LARGE', message: expect.stringContaining('11 bytes, more than the 10') } },
      { error: { code: 'VALUE_TOO_LARGE' } },
    ])
    expect(await a.getOrLoad('just right', () => '12345678')).toBe('12345678')
    await expect(a.set('k', '12345678+')).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', key: 'k' })
    await expect(a.set('k', Symbol('s'))).rejects.toMatchObject({ code: 'VALUE_NOT_SERIALIZABLE', key: 'k' })
  })
})
