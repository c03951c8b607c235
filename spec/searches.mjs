/**
 * What `npm run spec` lets spin search: the proofs, which must end without a counterexample, and the breaks, each of which
 * takes a rule away and must end with one.
 *
 * @typedef {{ name: string, what: string, shows?: RegExp, model?: string } & Pick<import('../tools/model-checker.mjs').Search, 'looksFor' | 'settings' | 'short' | 'depth'>} Question
 */
import { fileURLToPath } from 'node:url'

/** The path of the model. */
export const model = fileURLToPath(new URL('lease.pml', import.meta.url))

/** How a run shows what is wrong, in the words of spin. */
const shows = {
  secondLease: /lawful==0/,
  secondLoad: /loadedOnce/,
  lateWrite: /lawful==token/,
  olderValue: /late\[/,
  leaseWithoutLoad: /lease==0/,
  deadEnd: /^invalid end state$/,
  endlessRun: /^non-progress cycle$/,
}

const two = { PROCESSES: 2 }
const three = { PROCESSES: 3 }
const anyTime = { ASK_AT_ANY_TIME: 1, SOME_STAY_AWAY: 1 }
const everything = { CRASHES: 1, EXPIRIES: 1, SLIPS: 1, ASK_AT_ANY_TIME: 1 }

/** @type {readonly Question[]} */
export const proofs = [
  {
    name: 'crash',
    what: 'three processes, one of which may crash',
    looksFor: 'states',
    settings: { ...three, CRASHES: 1 },
  },
  {
    name: 'expiry',
    what: 'three processes, and a lease or a value that may end before its time',
    looksFor: 'states',
    settings: { ...three, EXPIRIES: 1 },
  },
  {
    name: 'slip',
    what: 'three processes, and a reply that may come too late or not at all',
    looksFor: 'states',
    settings: { ...three, SLIPS: 1 },
  },
  {
    name: 'everything',
    what: 'two processes, and all of these together; who waits asks again at any time, and some never ask',
    looksFor: 'states',
    settings: { ...two, ...everything, SOME_STAY_AWAY: 1 },
  },
  {
    name: 'gaps_and_crash',
    what: 'two processes in smaller steps, one of which may crash',
    looksFor: 'states',
    settings: { ...two, GAPS: 1, CRASHES: 1 },
  },
  {
    name: 'gaps_and_expiry',
    what: 'two processes in smaller steps, and a lease or a value that may end before its time',
    looksFor: 'states',
    settings: { ...two, GAPS: 1, EXPIRIES: 1 },
  },
  {
    name: 'gaps_and_slip',
    what: 'two processes in smaller steps, and a reply that may come too late or not at all',
    looksFor: 'states',
    settings: { ...two, GAPS: 1, SLIPS: 1 },
  },
  {
    name: 'refusal',
    what: 'two processes; the end of a load and its release may be refused twice, besides a crash and a reply that is lost',
    looksFor: 'states',
    settings: { ...two, ...anyTime, REFUSALS: 2, CRASHES: 1, SLIPS: 1 },
  },
  {
    name: 'gaps_and_refusal',
    what: 'two processes in smaller steps; the end of a load or a release may be refused',
    looksFor: 'states',
    settings: { ...two, GAPS: 1, REFUSALS: 1 },
  },
  {
    name: 'revert',
    what: 'two processes, and a Redis that may go back to what it was, besides a crash and a refusal',
    looksFor: 'states',
    settings: { ...two, ...anyTime, REVERTS: 1, REFUSALS: 1, CRASHES: 1 },
  },
  {
    name: 'soft',
    what: 'two processes and a soft invalidation, and all of these together; who waits asks again at any time, and some never ask',
    looksFor: 'states',
    settings: { ...two, ...everything, SOME_STAY_AWAY: 1, SOFT: 1 },
  },
  {
    name: 'gaps_and_soft',
    what: 'two processes in smaller steps and a soft invalidation, and a reply that may come too late or not at all',
    looksFor: 'states',
    settings: { ...two, GAPS: 1, SLIPS: 1, SOFT: 1 },
  },
  {
    name: 'answered_after_crash',
    what: 'three processes, one of which may crash: no run is endless',
    looksFor: 'cycles',
    settings: { ...three, CRASHES: 1, ASK_AT_ANY_TIME: 1 },
  },
  {
    name: 'answered_after_everything',
    what: 'two processes, and all of these together: no run is endless',
    looksFor: 'cycles',
    settings: { ...two, ...everything },
  },
  {
    name: 'answered_after_refusal',
    what: 'two processes, two refusals and a crash: no run is endless',
    looksFor: 'cycles',
    settings: { ...two, REFUSALS: 2, CRASHES: 1, ASK_AT_ANY_TIME: 1 },
  },
  {
    name: 'answered_after_revert',
    what: 'two processes, and a Redis that may go back to what it was: no run is endless',
    looksFor: 'cycles',
    settings: { ...two, REVERTS: 1, ASK_AT_ANY_TIME: 1 },
  },
]

/** @type {readonly Question[]} */
export const breaks = [
  taken('TOKEN_PER_PROCESS', shows.olderValue, 'all loads of a process have the same token'),
  taken('CLAIM_IGNORES_VALUE', shows.secondLoad, 'a claim looks only for a lease'),
  taken('CLAIM_IGNORES_LEASE', shows.secondLease, 'a claim wins although somebody else holds the lease'),
  // Otherwise its process sees that nothing loads under that lease, and gives it back.
  taken('CLAIM_NOT_IDEMPOTENT', shows.deadEnd, 'a claim that is sent twice waits for itself', {
    SLIPS: 1,
    ENDED_IS_FORGOTTEN: 1,
  }),
  taken(
    'CLAIM_COUNTS_FROM_REPLY',
    shows.olderValue,
    'a value is current as of the reply that brings it, not of the request',
  ),
  taken('NO_TOKEN_CHECK_IN_FILL', shows.lateWrite, 'a load that has lost its lease may fill', { EXPIRIES: 1 }),
  taken('NO_TOKEN_CHECK_IN_RELEASE', shows.secondLease, 'a release that comes late takes the lease of another', {
    SLIPS: 1,
  }),
  taken('INVALIDATE_LEAVES_LEASE', shows.lateWrite, 'an invalidation does not void the load under way'),
  {
    ...taken('INVALIDATE_LEAVES_LEASE', shows.lateWrite, 'a soft invalidation does not void the load under way', {
      SOFT: 1,
    }),
    name: 'SOFT_LEAVES_LEASE',
  },
  taken(
    'AWAITED_THOUGH_SOFTENED',
    shows.olderValue,
    'who waited for a load is given its value though it is stale by then',
    {
      SOFT: 1,
    },
  ),
  taken('LEASE_NEVER_EXPIRES', shows.deadEnd, 'the lease of a dead process stays', { CRASHES: 1 }),
  taken('ANSWER_BEFORE_FILL_ACCEPTED', shows.olderValue, 'callers are answered before Redis has accepted the fill'),
  taken('ANSWER_REFUSED', shows.olderValue, 'callers are answered although the fill was refused'),
  taken('LATE_LOAD_FOR_ALL', shows.olderValue, 'a load that went on without Redis is for all who joined it', {
    SLIPS: 1,
  }),
  taken('ANSWER_JOINED_WAITER', shows.olderValue, 'who joined a wait is given what the message brings'),
  taken('JOIN_WHILE_FILLING', shows.olderValue, 'a load can be joined when it has ended'),
  taken('UNKNOWN_FILL_COUNTS_FROM_END', shows.olderValue, 'a load whose fill may be refused is for all who joined it', {
    SLIPS: 1,
  }),
  taken('WAITERS_NEVER_REASK', shows.deadEnd, 'who waits relies on messages alone'),
  taken('RELEASE_TRIED_ONCE', shows.leaseWithoutLoad, 'a release that is refused is not sent again', { REFUSALS: 1 }),
  taken('ENDED_IS_FORGOTTEN', shows.deadEnd, 'a process waits for a lease of its own whose load has ended', {
    REVERTS: 1,
  }),
  taken('HOLDER_IS_NOT_ASKED', shows.deadEnd, 'who waits does not ask the holder whether it loads', { REVERTS: 1 }),
  taken('GIVES_BACK_WHILE_LOADING', shows.secondLoad, 'a holder that is asked gives the lease back although it loads', {
    REFUSALS: 1,
  }),
  {
    name: 'ASKING_IN_VAIN',
    what: 'the holder of a lease without a load is not asked, and who waits asks Redis again and again',
    shows: shows.endlessRun,
    looksFor: 'cycles',
    short: true,
    settings: { ...two, REVERTS: 1, HOLDER_IS_NOT_ASKED: 1, ASK_AT_ANY_TIME: 1 },
  },
  {
    name: 'ASKING_FOR_EVER',
    what: 'the lease of a dead process stays, and who waits asks again and again',
    shows: shows.endlessRun,
    looksFor: 'cycles',
    short: true,
    settings: { ...two, CRASHES: 1, LEASE_NEVER_EXPIRES: 1, ASK_AT_ANY_TIME: 1 },
  },
]

/**
 * @param {string} name a macro of the model that takes a rule away
 * @param {RegExp} shows
 * @param {string} what the protocol does then
 * @param {Record<string, number>} [needs] what must be able to happen for it to do harm
 * @returns {Question}
 */
function taken(name, shows, what, needs = {}) {
  return { name, what, shows, looksFor: 'states', short: true, settings: { ...two, ...needs, [name]: 1 } }
}
