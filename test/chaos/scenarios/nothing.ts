import { tooMany } from '../figures.ts'
import { scenario } from '../scenario.ts'
import { writes } from '../settings.ts'

export const nothing = [
  scenario({
    name: 'no_fault',
    on: 'node',
    what: 'Nothing is done to the fleet: one load at a time, no error, no load without a lease, and nobody sleeps.',
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    async fault() {},
    bites: ({ figures, work }) => figures.loads > 50 && (figures.writes > 5 || !writes(work)),
    holds: ({ figures }) => tooMany(figures),
  }),
  scenario({
    name: 'invalidated_all_the_time',
    on: 'node',
    what: 'Keys are invalidated and set faster than some of them can be loaded: nobody is given what has become old.',
    work: { invalidations: 0.06, sets: 0.03, slow: 0.1 },
    async fault() {},
    bites: ({ figures, heard }) => figures.writes > 60 && heard('lost') + heard('refused') > 10,
  }),
  scenario({
    name: 'tags_invalidated_all_the_time',
    on: 'node',
    what: 'Tags are invalidated faster than what has them can be loaded: nobody is given what has become old.',
    hits: 'nobody',
    work: { tags: 3, tagInvalidations: 0.06, slow: 0.1 },
    async fault() {},
    bites: ({ figures, heard }) => figures.writes > 60 && heard('refused') > 5,
  }),
]
