/** The queries of a second, since the last event. Both sides have the same scale, so that their heights can be compared. */
import { find, say } from './elements.mjs'
import { words } from './words.mjs'

const bars = 48

/** The chart shows so many seconds: the first of these that the event has not outlasted. */
const spans = [12, 24, 60, 120, 300, 900, 3_600]

/** The smallest scale, in queries per second: one load is a low bar. */
const leastScale = 20

export class Chart {
  #path
  #most
  #last
  #event = -1
  #span = 12
  /** The queries so far, at some time since the event. @type {{ at: number, queries: number }[]} */
  #samples = []

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#path = find('path', place)
    this.#most = find('.most', place)
    this.#last = find('.last', place)
    say(find('.first', place), '0 s')
  }

  /** Returns the highest bar, in queries per second. @param {number} event @param {number} at milliseconds @param {number} queries */
  add(event, at, queries) {
    if (event !== this.#event) this.#samples = [{ at: 0, queries: 0 }]
    this.#event = event
    this.#samples.push({ at: at / 1_000, queries })
    this.#span = spans.find((span) => span > at / 1_000) ?? at / 1_000
    return Math.max(...this.#heights())
  }

  /** @param {number} most  of both sides */
  draw(most) {
    const scale = Math.max(leastScale, most)
    const parts = this.#heights().flatMap((height, bar) =>
      height > 0 ? [`M${bar} 1V${(1 - height / scale).toFixed(3)}h.8V1z`] : [],
    )
    this.#path.setAttribute('d', parts.join(''))
    say(this.#most, words.perSecond(Math.round(most)))
    say(this.#last, `${Math.round(this.#span)} s`)
  }

  #heights() {
    const width = this.#span / bars
    const heights = Array.from({ length: bars }, () => 0)
    for (const [index, { at, queries }] of this.#samples.entries()) {
      const before = this.#samples[index - 1]?.queries ?? 0
      const bar = Math.min(bars - 1, Math.max(0, Math.floor(at / width)))
      heights[bar] = (heights[bar] ?? 0) + (queries - before) / width
    }
    return heights
  }
}
