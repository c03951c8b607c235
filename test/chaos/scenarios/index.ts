import type { Scenario } from '../scenario.ts'
import { clocks } from './clocks.ts'
import { clients } from './clients.ts'
import { cluster } from './cluster.ts'
import { limits } from './limits.ts'
import { near } from './near.ts'
import { network } from './network.ts'
import { nothing } from './nothing.ts'
import { payloads } from './payloads.ts'
import { processes } from './processes.ts'
import { redis } from './redis.ts'
import { refusals } from './refusals.ts'
import { replies } from './replies.ts'
import { sentinel } from './sentinel.ts'
import { sources } from './sources.ts'

/** All there are, by what is struck; each subject has a test file of its name. */
export const subjects = {
  nothing,
  processes,
  redis,
  refusals,
  network,
  replies,
  near,
  clocks,
  clients,
  payloads,
  sources,
  limits,
  sentinel,
  cluster,
} satisfies Record<string, readonly Scenario[]>

export const scenarios: readonly Scenario[] = Object.values(subjects).flat()
