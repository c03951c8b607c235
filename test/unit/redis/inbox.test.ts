import { expect, test } from 'vitest'
import { TokenSource } from '../../../src/core/lease/token.ts'
import type { RedisPort, SubscriberEvents } from '../../../src/redis/connection/port.ts'
import { Inbox, type InboxOwner } from '../../../src/redis/push/inbox.ts'

/** An open inbox, and a way to send it messages. */
function opened() {
  let events!: SubscriberEvents
  const subscriber = { isOpen: false, subscribe: () => Promise.resolve(), close: () => undefined }
  const client = {
    subscriber: (_: string, its: SubscriberEvents) => ((events = its), subscriber),
    on: () => () => undefined,
  }
  const owner: InboxOwner = {
    trouble: { note: () => undefined, over: () => undefined },
    confirmLeases: () => undefined,
    pushed: () => undefined,
  }
  const inbox = new Inbox(client as unknown as RedisPort, owner)
  inbox.open()
  return { inbox, send: (text: string) => events.message(Buffer.from(text, 'latin1')) }
}

test('a listener that was called and leaves takes no later one of its token along', () => {
  const { inbox, send } = opened()
  const token = new TokenSource().next()
  const heard: string[] = []
  const leave = inbox.listen(token, () => heard.push('first'))
  send(`t${token}`)
  inbox.listen(token, () => heard.push('second'))
  leave()
  send(`t${token}`)
  expect(heard).toEqual(['first', 'second'])
  inbox.close()
})
