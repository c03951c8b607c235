import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test } from 'vitest'
import { eventNames, Events } from '../../../src/core/observe/events.ts'
import type { CacheEvents } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { fleet } from '../support/fleet.ts'
import { throwing } from '../support/source.ts'

const open: (() => void)[] = []

afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** What is published on a channel until the test ends. */
function published(name: string): unknown[] {
  const messages: unknown[] = []
  const hear = (message: unknown): void => void messages.push(message)
  subscribe(name, hear)
  open.push(() => unsubscribe(name, hear))
  return messages
}

function tell(events: Events, name: keyof CacheEvents): void {
  if (name === 'hit') events.hit('k')
  else if (name === 'stale') events.stale('k', 1, false)
  else events.emit(name, { key: 'k' } as never)
}

describe('a channel of node:diagnostics_channel', () => {
  test.for(eventNames)('is there for %s, and heard of no longer than it is subscribed to', (name) => {
    const events = new Events('shop')
    expect(events.heard(name)).toBe(false)
    const messages = published(`herdless:${name}`)
    expect(events.heard(name)).toBe(true)
    tell(events, name)
    expect(messages).toEqual([expect.objectContaining({ namespace: 'shop', key: 'k' })])
    for (const close of open.splice(0)) close()
    expect(events.heard(name)).toBe(false)
    tell(events, name)
    expect(messages).toHaveLength(1)
  })

  test('is told nothing, and nothing is made for it, while nobody subscribes', () => {
    const events = new Events()
    const there = channel('herdless:miss')
    let read = 0
    const event = Object.defineProperty({ key: 'k' }, 'probe', { enumerable: true, get: () => void read++ })
    events.emit('miss', event)
    expect({ read, subscribed: there.hasSubscribers }).toEqual({ read: 0, subscribed: false })
    published('herdless:miss')
    events.emit('miss', event)
    expect(read).toBe(1)
  })

  test('a subscriber that throws breaks no load and keeps no other from hearing: Node makes it an uncaught exception', async () => {
    const { a } = fleet()
    const caught: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => caught.push(error))
    open.push(() => process.setUncaughtExceptionCaptureCallback(null))
    const thrown = new Error('of the subscriber')
    const fail = throwing(thrown)
    subscribe('herdless:load', fail)
    open.push(() => unsubscribe('herdless:load', fail))
    const loads = published('herdless:load')
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
    await settled()
    expect(loads).toHaveLength(1)
    expect(caught).toEqual([thrown])
  })
})
