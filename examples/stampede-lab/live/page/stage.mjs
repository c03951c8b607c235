/** The scene of a side, drawn on a canvas over its boxes: requests that travel, wait and return, and tokens that are held. */
import { Dots } from './dots.mjs'
import { layOut } from './places.mjs'
import { Tokens } from './tokens.mjs'
import { wayOf } from './sentence.mjs'

/** @typedef {import('./snapshot.d.ts').Snapshot} Snapshot @typedef {import('./snapshot.d.ts').Side} Side */

const calm = matchMedia('(prefers-reduced-motion: reduce)')
const dark = matchMedia('(prefers-color-scheme: dark)')

export class Stage {
  #root
  #canvas
  #context
  #dots = new Dots()
  #tokens = new Tokens()
  #colours
  /** @type {import('./places.mjs').Places | null} */
  #places = null

  /** @param {HTMLElement} root @param {Side} side */
  constructor(root, side) {
    this.#root = root
    this.side = side
    this.#canvas = /** @type {HTMLCanvasElement} */ (root.querySelector('canvas'))
    this.#context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext('2d'))
    this.#colours = coloursOf(root)
    new ResizeObserver(() => this.#measure()).observe(root)
    dark.addEventListener('change', () => (this.#colours = coloursOf(root)))
    const frame = (/** @type {number} */ time) => {
      if (!calm.matches) this.#draw(time)
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  }

  /** @param {Snapshot} snapshot */
  show(snapshot) {
    this.#colours = coloursOf(this.#root)
    const now = performance.now()
    if (this.#places !== null) this.#dots.show(snapshot, this.side, now, this.#places, !calm.matches)
    const way = wayOf(snapshot, this.side)
    this.#tokens.show(snapshot, this.side, now, snapshot.redis.isUp && (way === 'herdless' || way === 'lock'))
    if (calm.matches) this.#draw(now)
  }

  #measure() {
    const { clientWidth: width, clientHeight: height } = this.#root
    const scale = devicePixelRatio
    this.#canvas.width = Math.round(width * scale)
    this.#canvas.height = Math.round(height * scale)
    this.#context.setTransform(scale, 0, 0, scale, 0, 0)
    this.#places = layOut(this.#root)
    this.#draw(performance.now())
  }

  /** @param {number} time */
  #draw(time) {
    const places = this.#places
    if (places === null) return
    const context = this.#context
    context.clearRect(0, 0, this.#root.clientWidth, this.#root.clientHeight)
    drawLanes(context, places, this.#colours)
    this.#dots.draw(context, time, places, this.#colours)
    this.#tokens.draw(context, time, places, this.#colours, !calm.matches)
  }
}

/** @typedef {{ tone: string, soft: string, line: string, ink: string, bad: string, card: string, tint: string }} Colours */

/** @param {HTMLElement} root @returns {Colours} */
function coloursOf(root) {
  const style = getComputedStyle(root)
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim()
  return {
    tone: of('--tone'),
    soft: of('--soft'),
    line: of('--line'),
    ink: of('--ink'),
    bad: of('--bad'),
    card: of('--card'),
    tint: of('--tint'),
  }
}

/** The ways that requests take. @param {CanvasRenderingContext2D} context @param {import('./places.mjs').Places} places @param {Colours} colours */
function drawLanes(context, { rows, redis, database }, { line }) {
  context.strokeStyle = line
  context.lineWidth = 1
  context.beginPath()
  for (const { box, middle } of rows) {
    context.moveTo(box.right, middle)
    context.lineTo(redis.left, middle)
    context.moveTo(redis.right, middle)
    context.lineTo(database.left, middle)
  }
  context.stroke()
}
