import { expect, test } from 'vitest'
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
  each.open((node) => node.subscriber?.('channel', {} as never))
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
