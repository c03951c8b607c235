import { setTimeout as pause } from 'node:timers/promises'
import type { ConnectOptions } from '../../support/clients.ts'
import { scenario } from '../scenario.ts'

/** How users set their clients, and each process here its own. */
const settings: readonly ConnectOptions[] = [
  { enableAutoPipelining: true },
  { enableOfflineQueue: false, maxRetriesPerRequest: 0 },
  { lazyConnect: true, commandTimeout: 300 },
  { enableReadyCheck: false, autoResendUnfulfilledCommands: false },
]

export const clients = [
  scenario({
    name: 'mixed_clients',
    on: 'node',
    what: 'The clients of a fleet are set in four ways, and all connections break, again and again: all is normal soon.',
    allowed: { older: true, overlap: 400 },
    client: (place) => settings[place % settings.length] ?? {},
    async fault(stage) {
      // On a busy machine, a connection may take longer than a round to come back.
      while (stage.counted('cut') < 24) {
        for (const { commands, subscriber } of stage.processes) stage.count('cut', commands.cut() + subscriber.cut())
        await pause(stage.random.between(100, 400))
      }
    },
    bites: ({ counted, heard }) => counted('cut') >= 24 && heard('not pushed') >= 4,
  }),
]
