/**
 * The dots of a scene: each is one request. What changes from one snapshot to the next says how many set out, arrive,
 * wait and return; nothing is made up.
 */
import { grid } from './places.mjs'

/**
 * @typedef {import('./snapshot.d.ts').Snapshot} Snapshot
 * @typedef {import('./snapshot.d.ts').Side} Side
 * @typedef {import('./places.mjs').Places} Places
 * @typedef {'request' | 'load' | 'answer' | 'woken' | 'error'} Kind
 * @typedef {{ kind: Kind, x: number, y: number, toX: number, toY: number, start: number, end: number }} Dot
 * @typedef {{ requests: number, queries: number, errors: number, loads: number, parked: number, state: string }} Row
 */

/** A snapshot comes so often; its dots set out one after the other, in milliseconds. */
const interval = 100
const travel = { request: 320, load: 420, answer: 420, woken: 480, error: 480 }

/** A page that was not looked at for a while has missed more than can be shown. */
const mostPerRow = 250

export class Dots {
  /** @type {Dot[]} */
  #moving = []
  /** @type {Row[]} */
  #rows = []
  #event = -1
  #isRedisUp = true

  /** @param {Snapshot} snapshot @param {Side} side @param {number} now @param {Places} places @param {boolean} isMoving */
  show({ processes, event, redis }, side, now, places, isMoving) {
    const isSame = event.number === this.#event
    this.#event = event.number
    this.#isRedisUp = redis.isUp
    const before = this.#rows
    this.#rows = processes.map((process) => {
      const { requests, queries, errors, loading, waiting } = process[side]
      const loads = Object.values(loading).reduce((sum, count) => sum + count, 0)
      return { requests, queries, errors, loads, parked: parkedOf(waiting - loads), state: process.state }
    })
    if (!isMoving) this.#moving = []
    if (!isMoving || document.hidden) return
    for (const [index, row] of this.#rows.entries()) {
      const last = before[index]
      if (last !== undefined) this.#setOut(row, isSame ? last : anew(last), index, now, places)
    }
  }

  /** @param {Row} row @param {Row} last @param {number} index @param {number} now @param {Places} places */
  #setOut(row, last, index, now, places) {
    const place = places.rows[index]
    if (place === undefined) return
    const { box, park, middle } = place
    const { redis, queue } = places
    const set = (/** @type {number} */ count, /** @type {(start: number) => void} */ one) => {
      const some = Math.min(Math.max(0, count), mostPerRow)
      for (let dot = 0; dot < some; dot++) one(now + (interval * dot) / some)
    }
    const spread = () => (Math.random() - 0.5) * (box.bottom - box.top - 12)
    const queries = row.queries - last.queries
    const ended = last.loads + queries - row.loads
    const woken = last.parked - row.parked
    const failed = row.errors - last.errors
    set(queries, (start) => {
      const y = middle + spread()
      if (!this.#isRedisUp) return this.#add('load', box.right, y, queue.left, y, start)
      this.#add('load', box.right, y, redis.left, y, start)
      this.#add('load', redis.right, y, queue.left, y, start + travel.load)
    })
    set(row.requests - last.requests - queries - Math.max(0, -woken), (start) => {
      const y = middle + spread()
      this.#add('request', box.right, y, redis.left, y, start)
      this.#add('request', redis.left, y, box.right, y, start + travel.request)
    })
    if (row.state !== 'running') return
    set(ended, (start) => this.#add('answer', queue.left, middle + spread() / 2, redis.right, middle, start))
    let errors = failed
    set(Math.max(woken, failed), (start) => {
      const y = middle + spread()
      this.#add(
        errors-- > 0 ? 'error' : 'woken',
        park.left + Math.random() * (park.right - park.left),
        y,
        box.right,
        y,
        start,
      )
    })
  }

  /** @param {Kind} kind @param {number} x @param {number} y @param {number} toX @param {number} toY @param {number} start */
  #add(kind, x, y, toX, toY, start) {
    this.#moving.push({ kind, x, y, toX, toY, start, end: start + travel[kind] })
  }

  /** @param {CanvasRenderingContext2D} context @param {number} time @param {Places} places @param {import('./stage.mjs').Colours} colours */
  draw(context, time, places, colours) {
    this.#moving = this.#moving.filter(({ end }) => end > time)
    this.#drawWaiting(context, time, places, colours)
    const styles = {
      request: { colour: colours.soft, alpha: 0.55 },
      load: { colour: colours.tone, alpha: 1 },
      answer: { colour: colours.tone, alpha: 0.7 },
      woken: { colour: colours.ink, alpha: 0.75 },
      error: { colour: colours.bad, alpha: 1 },
    }
    for (const [kind, { colour, alpha }] of Object.entries(styles)) {
      context.fillStyle = colour
      context.globalAlpha = alpha
      context.beginPath()
      for (const dot of this.#moving) {
        if (dot.kind !== kind || dot.start > time) continue
        const part = eased((time - dot.start) / (dot.end - dot.start))
        circle(context, dot.x + (dot.toX - dot.x) * part, dot.y + (dot.toY - dot.y) * part, places.radius)
      }
      context.fill()
    }
    context.globalAlpha = 1
  }

  /** What waits beside its process, and what is under way in the database. @param {CanvasRenderingContext2D} context @param {number} time @param {Places} places @param {import('./stage.mjs').Colours} colours */
  #drawWaiting(context, time, { rows, queue, pitch, radius }, colours) {
    context.fillStyle = colours.ink
    context.globalAlpha = 0.75
    context.beginPath()
    for (const [index, { parked, state }] of this.#rows.entries()) {
      const place = rows[index]
      if (place === undefined || state === 'starting') continue
      dots(context, parked, place.park, pitch, radius, 'line')
    }
    context.fill()
    const travelling = this.#moving.filter(({ kind, end }) => kind === 'load' && end > time).length / 2
    const loads = this.#rows.reduce((sum, row) => sum + row.loads, 0)
    context.fillStyle = colours.tone
    context.globalAlpha = 1
    context.beginPath()
    dots(context, Math.max(0, loads - Math.floor(travelling)), queue, pitch, radius, 'heap')
    context.fill()
  }
}

/** A request that Redis answers at once is on its way, and does not wait. @param {number} waiting */
function parkedOf(waiting) {
  return waiting > 3 ? waiting : 0
}

/** All counts have begun anew. @param {Row} row @returns {Row} */
function anew(row) {
  return { ...row, requests: 0, queries: 0, errors: 0 }
}

/** @param {CanvasRenderingContext2D} context @param {number} count @param {import('./places.mjs').Box} box @param {number} pitch @param {number} radius @param {'line' | 'heap'} shape */
function dots(context, count, box, pitch, radius, shape) {
  const { step, at } = grid(count, box, pitch, shape)
  for (let index = 0; index < count; index++) {
    const { x, y } = at(index)
    circle(context, x, y, Math.min(radius, step * 0.42))
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} radius */
function circle(context, x, y, radius) {
  context.moveTo(x + radius, y)
  context.arc(x, y, radius, 0, 2 * Math.PI)
}

/** @param {number} part */
function eased(part) {
  return part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part)
}
