/** What happened on both sides, the latest first, and the last thing that was done. */
import { element, find, say } from './elements.mjs'
import { counted, lasted, words } from './words.mjs'

/** @typedef {import('./snapshot.d.ts').Entry} Entry */

const times = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** Which entries are shown, and how often each has happened. */
let shown = ''

/** @param {Entry[]} tape */
export function drawTape(tape) {
  const version = tape.map(({ id, times: often }) => `${id}:${often}`).join()
  if (version === shown) return
  shown = version
  const list = find('#tape')
  list.replaceChildren(...tape.toReversed().flatMap(linesOf))
  const last = tape.findLast(({ kind }) => kind === 'act' || kind === 'soon' || kind === 'trouble')
  if (last !== undefined) say(find('#said'), textOf(last))
}

/** @param {Entry} entry */
function linesOf(entry) {
  const item = element('li', '', entry.kind)
  item.append(element('time', times.format(entry.at)), element('span', textOf(entry)))
  return [item]
}

/** @param {Entry} entry @returns {string} */
function textOf(entry) {
  const { kind, action = '', times: often, message = '', shop = '' } = entry
  const side = entry.side === undefined ? '' : `${words.tape.sides[entry.side]}: `
  const key = entry.key === undefined ? '' : words.keys[entry.key]
  if (kind === 'act') return words.did[/** @type {keyof typeof words.did} */ (action)](entry)
  if (kind === 'soon') return words.soon[/** @type {keyof typeof words.soon} */ (action)]
  if (kind === 'load') return side + (often === 1 ? words.tape.load(shop, key) : words.tape.loads(key, often))
  if (kind === 'renewed') return side + words.tape.renewed(key, often)
  if (kind === 'trouble') return words.tape.trouble(message)
  return costOf(entry)
}

/** @param {Entry} entry */
function costOf({ without, with: withIt }) {
  const all = [
    { side: words.tape.sides.without, counts: without },
    { side: words.tape.sides.with, counts: withIt },
  ].map(({ side, counts }) => {
    const { queries = 0, most = 0, errors = 0, outdated = 0, slowest = 0 } = counts ?? {}
    const cost = {
      queries: counted(queries),
      most: counted(most),
      errors: counted(errors),
      outdated: counted(outdated),
      slowest: lasted(slowest),
    }
    return `${side}: ${words.tape.cost(cost)}`
  })
  return all.join(' · ')
}
