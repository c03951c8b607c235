/**
 * Draws each snapshot that the lab sends, and sends what a viewer presses.
 *
 * Reading order: page.mjs, side.mjs (figures) with sentence.mjs and chart.mjs, stage.mjs (the scene) with places.mjs,
 * dots.mjs and tokens.mjs, controls.mjs, tour.mjs, tape.mjs, words.mjs.
 */
import { disableControls, drawControls, listen } from './controls.mjs'
import { find, say } from './elements.mjs'
import { SideView } from './side.mjs'
import { drawTape } from './tape.mjs'
import { drawTour, listenToTour } from './tour.mjs'
import { sayWords, words } from './words.mjs'

/** @typedef {import('./snapshot.d.ts').Snapshot} Snapshot */

sayWords()
const other = /** @type {HTMLAnchorElement} */ (find('#language'))
Object.assign(other, { href: words.other.href, lang: words.other.lang, hreflang: words.other.lang })
say(other, words.other.text)
document.body.classList.add('worded')

const views = [new SideView('without'), new SideView('with')]

/** @param {Snapshot} snapshot */
function draw(snapshot) {
  const most = Math.max(...views.map((view) => view.addToChart(snapshot)))
  const felt = feltIn(snapshot)
  for (const view of views) view.draw(snapshot, felt, most)
  drawControls(snapshot)
  drawTour(snapshot)
  drawTape(snapshot.tape)
  document.body.classList.add('ready')
}

/** What users felt of an event: the worst that happened on either side, so that both can be compared. @param {Snapshot} snapshot */
function feltIn({ sides: { without, with: withIt }, event }) {
  if (event.kind === 'crawl') return 'most'
  if (event.kind === 'invalidate' || without.outdated + withIt.outdated > 0) return 'outdated'
  const isAboutErrors = event.kind === 'redisDown' || event.kind === 'failing'
  return isAboutErrors || without.errors + withIt.errors > 0 ? 'errors' : 'slowest'
}

listen()
listenToTour()
disableControls()

const link = find('#link')
const events = new EventSource('events')
events.addEventListener('message', ({ data }) => draw(JSON.parse(data)))
events.addEventListener('open', () => {
  say(link, words.link.live)
  link.classList.add('live')
})
events.addEventListener('error', () => {
  say(link, words.link.ended)
  link.classList.remove('live')
  disableControls()
})
