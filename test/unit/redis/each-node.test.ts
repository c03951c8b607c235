import { expect, test } from 'vitest'
import { until } from '../../../tools/until.mjs'
import type { ClientEvent, RedisNode, RedisPort, RedisSubscriber } from '../../../src/redis/connection/port.ts'
import { EachNode } from '../../../src/redis/push/each-node.ts'

const subscriber: RedisSubscriber = {
  isOpen: false,
  subscribe: async () => undefined,
  reconnect: () => undefined,
  open: () => undefined,
  close: () => undefined,
}

/** The nodes of a cluster, and how often it was said that a subscription is lost or there again. */
function watched(nodes: RedisNode[]) {
  const events = new Map<ClientEvent, () => void>()
  const on = (event: ClientEvent, tell: () => void): (() => void) => {
    events.set(event, tell)
    return () => void events.delete(event)
  }
  const state = { changes: 0 }
  const each = new EachNode({ nodes: () => nodes, on } as unknown as RedisPort, () => void state.changes++)
  each.open((node, events) => node.subscriber?.('channel', { ...events, message: () => undefined }))
  /** Looks for new nodes, as each second. */
  const look = (): void => events.get('ready')?.()
  return { each, state, look }
}

const node = (name: string, parts: Partial<RedisNode> = {}): RedisNode => ({
  name,
  call: () => Promise.resolve(),
  ...parts,
})

test('a node that gets a subscription is a change, once, and one that can have none is no change', () => {
  const nodes = [node('bare:1'), node('bare:2')]
  const { each, state, look } = watched(nodes)
  for (let looks = 0; looks < 5; looks++) look()
  expect(state.changes).toBe(0)
  nodes.push(node('c:3', { subscriber: () => subscriber }))
  for (let looks = 0; looks < 5; looks++) look()
  expect(state.changes).toBe(1)
  each.close()
})

test('a node that is lost and then forgotten is a change: the others have the subscription', async () => {
  const lost = new Map<string, () => void>()
  const nodes = ['a:1', 'b:2'].map((name) =>
    node(name, {
      subscriber: (_, events) => {
        lost.set(name, events.lost)
        setImmediate(events.opened)
        return { ...subscriber, isOpen: true }
      },
    }),
  )
  const { each, state, look } = watched(nodes)
  await until('all are subscribed', () => each.isWhole)
  lost.get('b:2')?.()
  expect(each.isWhole).toBe(false)
  const { changes } = state
  nodes.pop()
  for (let looks = 0; looks < 5; looks++) look()
  expect([each.isWhole, state.changes]).toEqual([true, changes + 1])
  each.close()
})
