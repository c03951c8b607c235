/** The tables of docs/comparison.md, of the results of `npm run bench -- peers`. */
import { middle } from '../../examples/stampede-lab/stampede.mjs'
import { median } from '../median.mjs'
import { multiple, on, table } from './table.mjs'

/** @typedef {import('../peers/measure.mjs').PeerResults} PeerResults */
/** @typedef {{ date: string, machine: import('./table.mjs').Machine, rounds: number, peers: PeerResults[] }} Comparison */

/** @param {Comparison} comparison */
export function comparisonTables({ date, machine, rounds, peers }) {
  const [first] = peers
  if (first === undefined) throw new Error('Expected results of some peers')
  const nodeRedis = median(first.hitsInRedis.map((hits) => hits.nodeRedis / hits.ioredis))
  return `Measured by \`npm run bench -- peers\` on ${date}, ${on(machine)}. The counts are those of the middle one of ${rounds} rounds, by its last answer.

### One cold key

Four processes with 250 callers each ask for one key that is not there.
Each cell holds the loads, the time until the last caller had its answer (as a multiple of the time that the loader takes), and the commands that Redis received.

${table(
  ['package', 'The loader takes 200 ms', 'It takes 3 s, the lock lives for 1 s', 'It throws after 30 ms'],
  peers.map((peer) => [
    nameOf(peer),
    cell(peer.stampedes.cold, 200),
    cell(peer.stampedes.slow, 3_000),
    cell(peer.stampedes.failing, 30, 'error'),
  ]),
)}

### A process is killed, a key is invalidated

*Killed*: the process that loads first is killed half-way through (\`kill -9\`); the cell says when the last of the other 750 callers had its answer, and how many loads there were. A load takes 200 ms.
*Invalidated*: the source changes and the key is invalidated while a load is under way. The cell says which value the next calls in the four processes are given.

${table(
  ['package', 'Killed: last answer / loads', 'Invalidated by the process that loads', 'Invalidated by another process'],
  peers.map((peer) => [
    nameOf(peer),
    killed(peer.stampedes.killed),
    invalidated(peer.invalidations['the same process']),
    invalidated(peer.invalidations['another process']),
  ]),
)}

### Hits

*In Redis*: one process, 64 calls in flight on keys that are there, as a multiple of \`GET\` and \`JSON.parse\` on a client of ioredis. On a client of node-redis 5, plain \`GET\` and \`JSON.parse\` are ${multiple(nodeRedis)} × that.
*In memory*: values of 200 bytes that are in the process, one call awaited after the other, as a multiple of \`await lru.get()\`.

${table(
  ['package', 'version', 'client', 'In Redis', 'In memory'],
  peers.map((peer) => [
    nameOf(peer),
    peer.package === null && peer.name === 'nothing' ? '' : peer.version,
    peer.client,
    inRedis(peer),
    inMemory(peer),
  ]),
)}
`
}

/** @param {PeerResults} peer */
function nameOf({ title, package: from, name }) {
  return from === null && name !== 'nothing' ? `**${title}**` : title
}

/**
 * @param {import('../peers/fleet.mjs').Round[]} rounds
 * @param {number} time milliseconds that the loader takes
 * @param {'value' | 'error'} right the right answer for each caller
 */
function cell(rounds, time, right = 'value') {
  const round = middle(rounds, ({ last }) => last)
  const figures = `${count(round.loads)} / ${multiple(round.last / time)} / ${count(round.commands)}`
  return [figures, ...wrongs(round, right)].join('; ')
}

/** @param {import('../peers/fleet.mjs').Round[]} rounds */
function killed(rounds) {
  const round = middle(rounds, ({ last }) => last)
  return [`${(round.last / 1_000).toFixed(1)} s / ${count(round.loads)}`, ...wrongs(round, 'value')].join('; ')
}

/** @param {import('../peers/fleet.mjs').Round} round @param {'value' | 'error'} right */
function wrongs({ callers, outcomes }, right) {
  const words = {
    value: 'got a value',
    error: 'got an error',
    nothing: 'got `undefined`',
    unanswered: 'had no answer within 15 s',
  }
  return /** @type {(keyof typeof words)[]} */ (Object.keys(words))
    .filter((outcome) => outcome !== right && outcomes[outcome] > 0)
    .map((outcome) => `**${count(outcomes[outcome])} of ${count(callers)} callers ${words[outcome]}**`)
}

/** @param {{ isOld: boolean }[]} rounds */
function invalidated(rounds) {
  const old = rounds.filter(({ isOld }) => isOld).length
  if (old === 0) return 'the new one'
  return old === rounds.length ? '**the old one**' : `**the old one** in ${old} of ${rounds.length} rounds`
}

/** @param {PeerResults} peer */
function inRedis({ hitsInRedis }) {
  return hitsInRedis.length === 0 ? '' : multiple(median(hitsInRedis.map((hits) => hits.peer / hits.ioredis)))
}

/** @param {PeerResults} peer */
function inMemory({ memory, hitsInMemory }) {
  if (memory === 'no') return ''
  const ratio = multiple(median(hitsInMemory.map((hits) => hits.peer / hits.lru)))
  return memory === 'alone' ? `${ratio} (instead of Redis)` : ratio
}

/** @param {number} figure */
function count(figure) {
  return figure.toLocaleString('en')
}
