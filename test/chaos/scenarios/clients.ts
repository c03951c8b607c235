import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../../tools/until.mjs'
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
      const ways = stage.processes.flatMap(({ commands, subscriber }) => [commands, subscriber])
      for (let round = 0; round < 4; round++) {
        await pause(stage.random.between(100, 400))
        for (const each of ways) each.cut()
        stage.count('cut')
        // On a busy machine, a connection takes its time to come back.
        await until('all are connected again', () => ways.every(({ connections }) => connections > 0))
      }
    },
    bites: ({ counted, heard }) => counted('cut') === 4 && heard('not pushed') >= 8,
  }),
]
