import { strict as assert } from 'node:assert'
import { allBytes, type ClientTest } from './client-scene.ts'

/** The subscription. */
export const messages: readonly ClientTest[] = [
  {
    title: 'messages to the channel arrive byte by byte, and no others',
    async run(scene) {
      const channel = scene.channel()
      const { messages: heard } = await scene.subscribed(channel)
      await scene.publish(scene.channel(), 'not this one')
      await scene.publish(channel, allBytes)
      // The nodes of a cluster keep no order among each other.
      await scene.until('a message arrives', () => heard.length === 1)
      await scene.publish(channel, 'text')
      await scene.until('another one arrives', () => heard.length >= 2)
      assert.deepEqual(heard, [allBytes, Buffer.from('text')])
    },
  },
  {
    title: 'a subscriber opens though nothing was asked of the client yet',
    isFresh: true,
    async run(scene) {
      const channel = scene.channel()
      const { messages: heard } = await scene.subscribed(channel)
      await scene.publish(channel, 'first')
      await scene.until('a message arrives', () => heard.length > 0)
    },
  },
  {
    title: 'the server counts the subscriber',
    async run(scene) {
      if (scene.port.isCluster) return
      const channel = scene.channel()
      await scene.subscribed(channel)
      const [, count] = (await scene.port.call('pubsub', null, ['NUMSUB', channel])) as unknown[]
      assert.equal(Number(count), 1)
    },
  },
  {
    title: 'each node of a cluster counts its own subscriber, and no other',
    async run(scene) {
      const nodes = scene.port.nodes()
      const [first, ...others] = nodes
      if (!scene.port.isCluster || first?.subscriber === undefined) return
      const channel = scene.channel()
      const counts = (): Promise<number[]> =>
        Promise.all(
          nodes.map(async (node) => Number(((await node.call('pubsub', ['NUMSUB', channel])) as unknown[])[1])),
        )
      let opened!: () => void
      const open = new Promise<void>((resolve) => (opened = resolve))
      const ignore = (): void => undefined
      const subscriber = first.subscriber(channel, { opened, lost: ignore, failed: ignore, message: ignore })
      await open
      await subscriber.subscribe()
      assert.deepEqual(await counts(), [1, ...others.map(() => 0)])
      subscriber.close()
      await scene.until('it is not counted any more', async () => (await counts()).every((count) => count === 0))
    },
  },
  {
    title: 'to subscribe again is answered, and a message still arrives once',
    async run(scene) {
      const channel = scene.channel()
      const { subscriber, messages: heard } = await scene.subscribed(channel)
      for (let time = 0; time < 3; time++) await subscriber.subscribe()
      await scene.publish(channel, 'once')
      await scene.until('a message arrives', () => heard.length > 0)
      await scene.publish(channel, 'last')
      await scene.until('the last message arrives', () => heard.some((message) => String(message) === 'last'))
      assert.deepEqual(heard.map(String), ['once', 'last'])
    },
  },
  {
    title: 'a connection that is replaced is reported as lost, and the next one as open',
    async run(scene) {
      const channel = scene.channel()
      const { subscriber, events, messages: heard } = await scene.subscribed(channel)
      subscriber.reconnect()
      await scene.until('the loss is reported', () => events[1] === 'lost')
      await scene.until('a new connection is reported', () => events.at(-1) === 'opened' && events.length > 2)
      await subscriber.subscribe()
      await scene.publish(channel, 'again')
      await scene.until('a message arrives', () => heard.length > 0)
      assert.deepEqual(heard.map(String), ['again'])
    },
  },
  {
    title: 'the subscribers of two channels know nothing of each other',
    async run(scene) {
      const channels = [scene.channel(), scene.channel()] as const
      const [one, other] = [await scene.subscribed(channels[0]), await scene.subscribed(channels[1])]
      one.subscriber.close()
      await scene.publish(channels[1], 'for the other')
      await scene.until('its message arrives', () => other.messages.length > 0)
      assert.deepEqual(one.messages, [])
    },
  },
  {
    title: 'a closed subscriber is not open, and opens no more connections',
    async run(scene) {
      const { subscriber, events } = await scene.subscribed(scene.channel())
      subscriber.close()
      await scene.until('it is not open', () => !subscriber.isOpen)
      const early = scene.watch(scene.channel())
      early.subscriber.close()
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.equal(subscriber.isOpen || early.subscriber.isOpen, false)
      assert.equal([...events.slice(1), ...early.events].includes('opened'), false)
    },
  },
  {
    title: 'a closed subscriber that is opened again hears again',
    async run(scene) {
      const channel = scene.channel()
      const { subscriber, messages: heard } = await scene.subscribed(channel)
      subscriber.close()
      await scene.until('it is not open', () => !subscriber.isOpen)
      // One that is still closing is opened by a later call.
      await scene.until('it is open', () => {
        subscriber.open()
        return subscriber.isOpen
      })
      await subscriber.subscribe()
      await scene.publish(channel, 'again')
      await scene.until('a message arrives', () => heard.length > 0)
      assert.deepEqual(heard.map(String), ['again'])
    },
  },
]
