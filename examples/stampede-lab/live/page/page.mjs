/** Draws each snapshot that the lab sends, and sends what a viewer presses. */
import { Chart } from './chart.mjs'

/** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement} */
const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector))
const numbers = new Intl.NumberFormat('en', { useGrouping: true })
const times = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const mostDots = 24

/** One side of the page. */
class SideView {
  #root
  #chart

  /** @param {'without' | 'with'} side */
  constructor(side) {
    this.#root = find(`#${side}`)
    const template = /** @type {HTMLTemplateElement} */ (find('#side-template'))
    this.#root.append(template.content.cloneNode(true))
    this.#chart = new Chart(find('.chart', this.#root))
    this.side = side
  }

  /** @param {Snapshot} snapshot */
  draw({ at, sides, processes, leases, way }) {
    const figures = sides[this.side]
    const { queriesPerSecond, queries, requests, errors, outdated, latency } = figures
    this.#chart.add(at, queriesPerSecond)
    this.#say('.queries-now', numbers.format(queriesPerSecond))
    find(`#score-${this.side}`).textContent = numbers.format(queriesPerSecond)
    this.#say('.queries', numbers.format(queries))
    this.#say('.requests', numbers.format(requests))
    this.#say('.saved', requests === 0 ? '–' : `${(100 * (1 - queries / requests)).toFixed(1)} %`)
    this.#say('.latency', latency === null ? '–' : `${numbers.format(latency)} ms`)
    this.#say('.errors', numbers.format(errors), errors > 0)
    this.#say('.outdated', numbers.format(outdated), outdated > 0)
    this.#drawProcesses(processes)
    this.#drawLeases(leases[this.side], way)
  }

  /** @param {Process[]} processes */
  #drawProcesses(processes) {
    const list = find('.processes', this.#root)
    for (const [index, process] of processes.entries()) {
      const { loads, keys, waiting } = process[this.side]
      const item = list.children[index] ?? list.appendChild(element('li'))
      const isGone = process.state !== 'running'
      item.className = `process${loads > 0 && !isGone ? ' leads' : ''}${isGone ? ' gone' : ''}`
      const says = isGone ? process.state : loads > 1 ? `${loads} queries` : loads === 1 ? `loads ${keys[0]}` : 'serves'
      const waits = waiting > 0 && !isGone ? `${waiting} waiting` : ''
      item.replaceChildren(
        element('b', process.name),
        element('span', says, 'says'),
        element('div', waits, 'waits'),
        dots(isGone ? 0 : waiting),
      )
    }
  }

  /** @param {Record<string, number>} left @param {string} way */
  #drawLeases(left, way) {
    const kind = this.side === 'with' ? 'Leases in Redis' : way === 'lock' ? 'Locks in Redis' : 'No lock in Redis'
    this.#say('.leases-title', this.side === 'without' && way === 'herdless' ? 'Leases are on the right' : kind)
    const list = find('.leases', this.#root)
    for (const [index, [key, name]] of Object.entries(keyNames).entries()) {
      const item = list.children[index] ?? list.appendChild(lease(name))
      find('.bar i', item).style.transform = `scaleX(${Math.min(1, (left[key] ?? 0) / 1_000)})`
    }
  }

  /** @param {string} selector @param {string} text @param {boolean} [isBad] */
  #say(selector, text, isBad = false) {
    const place = find(selector, this.#root)
    if (place.textContent !== text) place.textContent = text
    place.classList.toggle('bad', isBad)
  }
}

/** @type {Record<string, string>} */
const keyNames = { 'front-page': 'Front page', 'best-sellers': 'Best sellers', prices: 'Prices' }

/** @param {string} name @param {string} [text] @param {string} [className] */
function element(name, text = '', className = '') {
  const made = document.createElement(name)
  made.textContent = text
  made.className = className
  return made
}

/** @param {number} count */
function dots(count) {
  const row = element('div', '', 'dots')
  row.setAttribute('aria-hidden', 'true')
  for (let dot = 0; dot < Math.min(count, mostDots); dot++) row.append(element('i'))
  return row
}

/** @param {string} name */
function lease(name) {
  const item = element('li', '', 'lease')
  const bar = element('div', '', 'bar')
  bar.append(element('i'))
  item.append(element('span', name), bar)
  return item
}

const views = [new SideView('without'), new SideView('with')]
const said = find('#said')
const tape = find('#tape')
let lastEntry = 0

/** @param {Snapshot} snapshot */
function draw(snapshot) {
  for (const view of views) view.draw(snapshot)
  drawControls(snapshot)
  drawTour(snapshot.tour)
  for (const entry of snapshot.tape) {
    if (entry.id <= lastEntry) continue
    lastEntry = entry.id
    const item = element('li', '', entry.kind)
    item.append(element('time', times.format(entry.at)), element('span', entry.text))
    tape.prepend(item)
    while (tape.children.length > 60) tape.lastChild?.remove()
  }
}

/** @param {Snapshot} snapshot */
function drawControls({ way, source, redis }) {
  const radio = /** @type {HTMLInputElement} */ (find(`input[value="${way}"]`))
  radio.checked = true
  find('[data-toggle="slow"]').setAttribute('aria-pressed', String(source.delay > 0))
  find('[data-toggle="failing"]').setAttribute('aria-pressed', String(source.isBroken))
  const [down, up] = ['redisDown', 'redisUp'].map(
    (name) => /** @type {HTMLButtonElement} */ (find(`[data-action="${name}"]`)),
  )
  if (down !== undefined) down.disabled = !redis.isOwn || !redis.isUp
  if (up !== undefined) up.disabled = !redis.isOwn || redis.isUp
}

/** @param {Snapshot['tour']} tour */
function drawTour(tour) {
  const caption = tour?.caption ?? 'Press a button below, or let the guided minute show what happens.'
  find('#tour-step').textContent = tour === null ? '' : `Guided minute, step ${tour.step} of ${tour.of}`
  const place = find('#tour-caption')
  if (place.textContent !== caption) place.textContent = caption
  find('#tour-button').textContent = tour === null ? 'Start the guided minute' : 'Stop the guided minute'
  isTouring = tour !== null
}

let isTouring = false

/** @param {string} name @param {string} [value] */
async function act(name, value) {
  const query = value === undefined ? '' : `?value=${encodeURIComponent(value)}`
  try {
    const answer = await fetch(`actions/${name}${query}`, { method: 'POST', headers: { 'x-herdless-lab': '1' } })
    said.textContent = await answer.text()
  } catch {
    said.textContent = 'The lab does not answer.'
  }
}

for (const button of document.querySelectorAll('[data-action]')) {
  button.addEventListener('click', () => act(button.getAttribute('data-action') ?? ''))
}
for (const button of document.querySelectorAll('[data-toggle]')) {
  button.addEventListener('click', () => {
    const isOn = button.getAttribute('aria-pressed') === 'true'
    return act(button.getAttribute('data-toggle') ?? '', isOn ? 'off' : 'on')
  })
}
for (const radio of document.querySelectorAll('input[name="way"]')) {
  radio.addEventListener('change', () => act('way', /** @type {HTMLInputElement} */ (radio).value))
}
find('#tour-button').addEventListener('click', () => act('tour', isTouring ? 'stop' : 'start'))

const link = find('#link')
const events = new EventSource('events')
events.addEventListener('message', ({ data }) => draw(JSON.parse(data)))
events.addEventListener('open', () => {
  link.textContent = 'Live'
  link.classList.add('live')
})
events.addEventListener('error', () => {
  link.textContent = 'The lab has ended'
  link.classList.remove('live')
})

/**
 * @typedef {{ loads: number, keys: string[], waiting: number }} Doing
 * @typedef {{ name: string, state: string, without: Doing, with: Doing }} Process
 * @typedef {{ queriesPerSecond: number, queries: number, requests: number, errors: number, outdated: number, latency: number | null }} Figures
 * @typedef {{ id: number, at: number, kind: string, text: string }} TapeEntry
 *
 * @typedef {object} Snapshot
 * @property {number} at
 * @property {string} way
 * @property {{ delay: number, isBroken: boolean }} source
 * @property {{ isUp: boolean, isOwn: boolean }} redis
 * @property {{ step: number, of: number, caption: string } | null} tour
 * @property {{ without: Figures, with: Figures }} sides
 * @property {{ without: Record<string, number>, with: Record<string, number> }} leases
 * @property {Process[]} processes
 * @property {TapeEntry[]} tape
 */
