import { adapterMutations } from './frameworks.mjs'
import { clientMutations } from './clients.mjs'
import { commandMutations } from './command.mjs'
import { httpMutations } from './http.mjs'
import { identityMutations } from './identity.mjs'
import { lockMutations } from './locks.mjs'
import { mutations } from './core.mjs'
import { nearMutations } from './near.mjs'
import { sourceMutations } from './sources.mjs'
import { softMutations } from './soft.mjs'
import { troubleMutations } from './trouble.mjs'

/** All deliberate breaks. @type {readonly import('./core.mjs').Mutation[]} */
export const allMutations = [
  ...mutations,
  ...clientMutations,
  ...lockMutations,
  ...nearMutations,
  ...sourceMutations,
  ...softMutations,
  ...troubleMutations,
  ...httpMutations,
  ...identityMutations,
  ...adapterMutations,
  ...commandMutations,
]
