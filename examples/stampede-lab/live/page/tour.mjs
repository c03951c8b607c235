/** The caption of the tour, how far it is, and the card that closes it. */
import { act } from './controls.mjs'
import { element, find, say } from './elements.mjs'
import { counted, words } from './words.mjs'

/** @typedef {import('./snapshot.d.ts').Snapshot} Snapshot @typedef {import('./snapshot.d.ts').Act} Act */

/** What each act is measured by on the closing card. @param {Act} name */
const measureOf = (name) => (name === 'invalidate' ? 'outdated' : name === 'redisDown' ? 'errors' : 'queries')

let isPlaying = false
/** The results that the viewer has seen enough of. */
let dismissed = ''

export function listenToTour() {
  find('#tour-button').addEventListener('click', () => act('tour', isPlaying ? 'stop' : 'start'))
  find('#again').addEventListener('click', () => act('tour', 'start'))
  find('#look').addEventListener('click', () => {
    dismissed = JSON.stringify(last)
    close()
    find('[data-action="expire"]').focus()
  })
}

/** @type {Snapshot['results']} */
let last = null

/** @param {Snapshot} snapshot */
export function drawTour({ tour, results }) {
  isPlaying = tour !== null
  const { title, text } = tour === null ? words.tour.idle : words.tour.acts[tour.act]
  say(find('#tour-title'), title)
  say(find('#tour-text'), text)
  say(find('#tour-button'), isPlaying ? words.tour.stop : words.tour.start)
  drawProgress(tour)
  drawResults(results)
}

/** @param {Snapshot['tour']} tour */
function drawProgress(tour) {
  const list = find('#tour-progress')
  const of = tour?.of ?? Object.keys(words.tour.acts).length
  while (list.children.length < of) list.append(element('li'))
  for (const [index, item] of [...list.children].entries()) {
    item.className = tour === null || index + 1 > tour.number ? '' : index + 1 === tour.number ? 'plays' : 'played'
  }
}

/** @param {Snapshot['results']} results */
function drawResults(results) {
  const isNew = JSON.stringify(results) !== JSON.stringify(last)
  last = results
  if (results === null) return close()
  if (!isNew || JSON.stringify(results) === dismissed) return
  const rows = results.map(({ act: name, without, with: withIt }) => {
    const measure = measureOf(name)
    const row = element('tr')
    const head = element('th', words.results[name])
    head.setAttribute('scope', 'row')
    row.append(head, element('td', counted(without[measure])), element('td', counted(withIt[measure])))
    return row
  })
  find('#results').replaceChildren(...rows)
  find('#closing').hidden = false
  find('#closing-title').focus({ preventScroll: true })
}

function close() {
  find('#closing').hidden = true
}
