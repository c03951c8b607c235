/**
 * What `npm run spec` lets spin search in the model of the permits of a source: proofs and breaks, as in searches.mjs.
 *
 * @typedef {import('./searches.mjs').Question} Question
 */
import { fileURLToPath } from 'node:url'

const model = fileURLToPath(new URL('permits.pml', import.meta.url))

/** How a run shows what is wrong, in the words of spin. */
const shows = {
  tooMany: /running\[0\]/,
  deadEnd: /queued\[0\]/,
  endlessRun: /^non-progress cycle$/,
}

const two = { PROCESSES: 2 }

/** @type {readonly Question[]} */
export const permitProofs = [
  proof('permits', 'states', 'permits of two processes; one crashes, and a report comes twice', {
    CRASHES: 1,
    REPEATS: 1,
  }),
  proof('permits_loss', 'states', 'permits, and a report or an answer that is late or lost', { LOSSES: 1 }),
  proof('permits_pause', 'states', 'permits, and a process that stands still', { PAUSES: 1 }),
  proof('permits_forgotten', 'states', 'permits, and a Redis that forgets everything', { FORGETS: 1 }),
  proof('permits_messages', 'states', 'permits, of which waiters hear by messages alone, that all arrive', {
    MESSAGES_ALONE: 1,
  }),
  {
    ...proof('permits_three', 'states', 'permits of three processes, one of which may crash', { CRASHES: 1 }),
    ...ofThree({ CRASHES: 1 }),
  },
  {
    ...proof('permits_three_served', 'cycles', 'permits of three processes: nobody starves', {}),
    ...ofThree({}),
  },
  proof('permits_served', 'cycles', 'permits of two processes, one of which may crash: nobody starves', { CRASHES: 1 }),
]

/** @type {readonly Question[]} */
export const permitBreaks = [
  taken('NO_NUMBER_CHECK', 'states', shows.tooMany, 'a report that comes late counts', { REPEATS: 1 }),
  taken('HELD_NOT_REPORTED', 'states', shows.tooMany, 'a process does not say what it holds'),
  taken('DEAD_HOLD_FOR_EVER', 'cycles', shows.endlessRun, 'the permits of a dead process stay held', { CRASHES: 1 }),
  taken('MESSAGES_ALONE', 'states', shows.deadEnd, 'who waits for a permit relies on messages alone', { LOSSES: 1 }),
  {
    ...taken('MESSAGES_ALONE', 'states', shows.deadEnd, 'who waits for the permit of a dead process never asks again', {
      CRASHES: 1,
    }),
    name: 'MESSAGES_OF_THE_DEAD',
  },
  taken('NO_PLACE_SET_ASIDE', 'cycles', shows.endlessRun, 'no permit is set aside for who has waited longer'),
  taken('KEPT_SHARE_ROUNDED_UP', 'cycles', shows.endlessRun, 'a process keeps its last permit while another has none'),
]

/** @param {Record<string, number>} happens */
function ofThree(happens) {
  return { short: false, depth: 1_500_000, settings: { PROCESSES: 3, ...happens } }
}

/**
 * @param {string} name
 * @param {'states' | 'cycles'} looksFor
 * @param {string} what
 * @param {Record<string, number>} happens
 * @returns {Question}
 */
function proof(name, looksFor, what, happens) {
  return { model, name, what, looksFor, short: true, depth: 100_000, settings: { ...two, ...happens } }
}

/**
 * @param {string} name a macro of the model that takes a rule away
 * @param {'states' | 'cycles'} looksFor
 * @param {RegExp} found
 * @param {string} what the protocol does then
 * @returns {Question}
 */
function taken(name, looksFor, found, what, needs = {}) {
  return { ...proof(name, looksFor, what, { ...needs, [name]: 1 }), shows: found }
}
