import type { ServerResponse } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { BodyReader } from '../../../src/http/exchange/body-reader.ts'
import { Recording } from '../../../src/http/exchange/recording.ts'

const piece = Buffer.alloc(1_048_576)

/** A client that takes what it is sent, or leaves it in the buffer of its response. */
function client({ reads = true } = {}) {
  const told: string[] = []
  const response = { writableLength: 0 }
  const reader = new BodyReader(response as ServerResponse, {
    write: ([chunk]) => {
      told.push('chunk')
      if (!reads) response.writableLength += (chunk as Buffer).length
      return reads
    },
    end: () => void told.push('end'),
    cut: () => void told.push('cut'),
  })
  return { reader, told }
}

/** A recording of which `most` bytes are kept. */
function recordingOf(most: number, about: { readonly isAwaited?: boolean } = {}) {
  const onReady = vi.fn<() => void>()
  const isAwaited = (): boolean => about.isAwaited === true
  const recording = new Recording({ most, isAwaited, patience: 60_000, onReady, onOver: () => undefined })
  const write = (): boolean => (recording.write(piece, [piece]), recording.isReady)
  return { recording, write, onReady }
}

describe('a handler', () => {
  test('waits for nobody while the body is kept, and then for the fastest reader', () => {
    const { recording, write, onReady } = recordingOf(piece.length)
    const [own, other] = [client({ reads: false }), client({ reads: false })]
    recording.lead(own.reader)
    recording.follow(other.reader)
    expect(write()).toBe(true)
    recording.goOn()
    expect(onReady).not.toHaveBeenCalled()
    expect(write()).toBe(false)
    other.reader.isReady = true
    recording.goOn()
    expect([recording.isReady, onReady.mock.calls.length]).toEqual([true, 1])
  })

  test('of a body that is too long goes on for its own client alone, if nobody else reads it', async () => {
    const { recording, write } = recordingOf(0)
    const own = client({ reads: false })
    recording.lead(own.reader)
    expect([write(), recording.isHeard, own.told]).toEqual([false, false, ['chunk']])
    expect((await recording.ended).state).toBe('unfit')
  })

  test.for([true, false])('goes on without its client if another waits: %s', async (isAwaited) => {
    const { recording } = recordingOf(piece.length, { isAwaited })
    recording.lead(client().reader)
    recording.orphan()
    expect([recording.isOrphaned, recording.isHeard]).toEqual([isAwaited, isAwaited])
    recording.end(null, [], null)
    expect((await recording.ended).state).toBe(isAwaited ? 'complete' : 'broken')
  })

  test('does not go on when its client has left, and then the last of the others', async () => {
    const { recording, write } = recordingOf(2 * piece.length)
    const [own, other] = [client(), client()]
    recording.lead(own.reader)
    recording.follow(other.reader)
    recording.orphan()
    write()
    recording.leave(other.reader)
    expect([recording.isHeard, own.told, other.told]).toEqual([false, [], ['chunk']])
    expect((await recording.ended).state).toBe('broken')
  })
})

describe('a reader that is more than 16 MiB behind', () => {
  test.for(['own', 'other'])('is cut off if another reads, beyond what is kept: %s', (which) => {
    const { recording, write } = recordingOf(0)
    const slow = client({ reads: false })
    const fast = client()
    recording.lead((which === 'own' ? slow : fast).reader)
    recording.follow((which === 'own' ? fast : slow).reader)
    for (let count = 0; count < 20; count++) expect(write()).toBe(true)
    expect([slow.told.length, slow.told.at(-1)]).toEqual([18, 'cut'])
    recording.end(null, [], null)
    expect([fast.told.length, fast.told.at(-1)]).toEqual([21, 'end'])
  })

  test('is not while the whole is kept, and not where it is the only one', () => {
    const whole = recordingOf(20 * piece.length)
    const slow = client({ reads: false })
    whole.recording.lead(client().reader)
    whole.recording.follow(slow.reader)
    for (let count = 0; count < 20; count++) whole.write()
    expect(slow.told).not.toContain('cut')
    const shared = recordingOf(0)
    const only = client({ reads: false })
    shared.recording.lead(client().reader)
    shared.recording.follow(only.reader)
    shared.recording.orphan()
    for (let count = 0; count < 20; count++) shared.write()
    expect(only.told).not.toContain('cut')
  })
})
