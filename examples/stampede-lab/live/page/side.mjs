/** One side of the page: its figures, what it does now, its processes in words; with the scene and the chart. */
import { Chart } from './chart.mjs'
import { element, find, say } from './elements.mjs'
import { Stage } from './stage.mjs'
import { sentenceOf, wayOf } from './sentence.mjs'
import { counted, lasted, sayWords, words } from './words.mjs'

/** @typedef {import('./snapshot.d.ts').Snapshot} Snapshot @typedef {import('./snapshot.d.ts').Side} Side */

export class SideView {
  #root
  #chart
  #stage
  #rows

  /** @param {Side} side */
  constructor(side) {
    this.side = side
    this.#root = find(`#${side}`)
    const template = /** @type {HTMLTemplateElement} */ (find('#side-template'))
    this.#root.append(template.content.cloneNode(true))
    sayWords(this.#root)
    this.#rows = Array.from({ length: 4 }, row)
    find('.processes', this.#root).append(...this.#rows.map(({ item }) => item))
    this.#chart = new Chart(find('.chart', this.#root))
    this.#stage = new Stage(find('.scene', this.#root), side)
  }

  /** @param {Snapshot} snapshot @param {'slowest' | 'errors' | 'outdated' | 'most'} felt @param {number} mostQueries */
  draw(snapshot, felt, mostQueries) {
    const { sides, event } = snapshot
    const counts = sides[this.side]
    const way = wayOf(snapshot, this.side)
    this.#root.classList.toggle('good', way === 'herdless')
    this.#say(
      'h2',
      this.side === 'with' ? words.page.titleWith : way === 'herdless' ? words.titleToo : words.page.titleWithout,
    )
    this.#say('.since', words.since[/** @type {keyof typeof words.since} */ (event.kind)])
    this.#say('.queries', counted(counts.queries))
    this.#say('.felt', felt === 'slowest' ? lasted(counts.slowest) : counted(counts[felt]))
    this.#say('.felt-name', words.felt[felt])
    // None, where nothing got as far as the database, is no merit.
    find('.queries', this.#root).classList.toggle('none', counts.queries === 0 && counts.errors > 0)
    find('.felt', this.#root).classList.toggle('bad', (felt === 'errors' || felt === 'outdated') && counts[felt] > 0)
    this.#drawAnswers(counts)
    this.#say('.now', sentenceOf(snapshot, this.side))
    const { isUp } = snapshot.redis
    this.#say('.keeps', words.keeps[!isUp ? 'down' : way === 'herdless' || way === 'lock' ? way : 'values'])
    find('.redis', this.#root).classList.toggle('down', !isUp)
    this.#drawProcesses(snapshot)
    this.#stage.show(snapshot)
    this.#chart.draw(mostQueries)
  }

  /** How many queries reached the database in the fastest part of the event. @param {Snapshot} snapshot */
  addToChart({ event, at, sides }) {
    return this.#chart.add(event.number, at - event.at, sides[this.side].queries)
  }

  /** @param {import('./snapshot.d.ts').Counts} counts */
  #drawAnswers(counts) {
    const { answered, errors, outdated, slowest } = counts
    const all = words.answers({
      answered: counted(answered),
      errors: counted(errors),
      outdated: counted(outdated),
      slowest: lasted(slowest),
    })
    const place = find('.answers', this.#root)
    for (const [index, text] of all.entries()) {
      const part = place.children[index] ?? place.appendChild(element('span'))
      if (part.textContent !== text) part.textContent = text
      part.classList.toggle('bad', (index === 1 && errors > 0) || (index === 2 && outdated > 0))
    }
  }

  /** @param {Snapshot} snapshot */
  #drawProcesses({ processes }) {
    let sum = 0
    for (const [index, process] of processes.entries()) {
      const parts = this.#rows[index]
      if (parts === undefined) continue
      const doing = process[this.side]
      const loading = Object.entries(doing.loading).filter(([, count]) => count > 0)
      const loads = loading.reduce((all, [, count]) => all + count, 0)
      sum += loads
      parts.item.classList.toggle('gone', process.state !== 'running')
      parts.item.classList.toggle('loads', loads > 0 && process.state === 'running')
      say(parts.name, process.name)
      say(
        parts.does,
        doesOf(
          process,
          loading.map(([key]) => key),
          loads,
          doing.waiting,
        ),
      )
    }
    this.#say('.under-way', words.underWay(sum))
  }

  /** @param {string} selector @param {string} text */
  #say(selector, text) {
    say(find(selector, this.#root), text)
  }
}

function row() {
  const item = element('li', '', 'process')
  const box = element('div', '', 'box')
  const [name, does] = [element('b'), element('span', '', 'does')]
  box.append(name, does)
  item.append(box, element('i', '', 'park'))
  return { item, name, does }
}

/** @param {import('./snapshot.d.ts').Process} process @param {string[]} loading @param {number} loads @param {number} waiting */
function doesOf(process, loading, loads, waiting) {
  const does = words.process
  if (process.state !== 'running') return does[process.state]
  const [key] = loading
  if (key !== undefined && loads === 1) return does.loads(words.keys[/** @type {keyof typeof words.keys} */ (key)])
  if (loads > 0) return loads === loading.length ? does.loadsKeys(loads) : does.loadsMany(loads)
  // A request that Redis answers has some milliseconds.
  return waiting > 5 ? does.waits : does.serves
}
