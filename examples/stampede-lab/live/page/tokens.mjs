/** The leases, or locks: tokens that lie in Redis, and stand with the process that holds them; each has a ring for its time. */
import { words } from './words.mjs'

/**
 * @typedef {import('./snapshot.d.ts').Snapshot} Snapshot
 * @typedef {import('./snapshot.d.ts').Side} Side
 * @typedef {import('./snapshot.d.ts').Key} Key
 * @typedef {import('./places.mjs').Places} Places
 * @typedef {{ key: Key, row: number, left: number, at: number, renewedAt: number, x: number, y: number }} Token
 *   `row` of its holder, or -1; `left` was the time left when it was looked at
 */

/** A lease or a lock lasts so long, in milliseconds. */
const whole = 1_000
const pulse = 450

export class Tokens {
  /** @type {Token[]} */
  #tokens = /** @type {Key[]} */ (['home', 'top-ten', 'prices']).map((key) => ({
    key,
    row: -1,
    left: 0,
    at: 0,
    renewedAt: -pulse,
    x: Number.NaN,
    y: Number.NaN,
  }))
  #areShown = false
  #drawnAt = 0

  /** @param {Snapshot} snapshot @param {Side} side @param {number} now @param {boolean} areShown */
  show({ leases, processes }, side, now, areShown) {
    this.#areShown = areShown
    for (const token of this.#tokens) {
      const { left, holder } = leases[side][token.key]
      const row = left > 0 ? processes.findIndex(({ name }) => name === holder) : -1
      const isRenewed = row === token.row && row >= 0 && left > token.left + whole / 10
      if (isRenewed) token.renewedAt = now
      if (left !== token.left || row !== token.row) token.at = now
      Object.assign(token, { row, left })
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} time @param {Places} places @param {import('./stage.mjs').Colours} colours @param {boolean} isMoving */
  draw(context, time, places, colours, isMoving) {
    // The way to a new place is as long in frames as in time.
    const part = isMoving ? 1 - Math.exp(-(time - this.#drawnAt) / 70) : 1
    this.#drawnAt = time
    if (!this.#areShown) return
    const size = Math.min(places.radius * 4, places.rowHeight / 5.2)
    for (const [index, token] of this.#tokens.entries()) {
      const goal = placeOf(token, index, places, size)
      if (Number.isNaN(token.x)) Object.assign(token, goal)
      token.x += (goal.x - token.x) * part
      token.y += (goal.y - token.y) * part
      const left = Math.max(0, token.left - (isMoving ? time - token.at : 0)) / whole
      drawToken(context, token, size, token.row < 0 ? 0 : Math.min(1, left), colours)
      const since = (time - token.renewedAt) / pulse
      if (isMoving && since < 1) drawPulse(context, token, size * (1 + since), 1 - since, colours)
    }
  }
}

/** @param {Token} token @param {number} index @param {Places} places @param {number} size */
function placeOf({ row }, index, { rows, redis }, size) {
  const holder = rows[row]?.box
  if (holder !== undefined)
    return { x: holder.right - size - 4 - (2 - index) * (2 * size + 3), y: holder.top + size + 4 }
  return { x: (redis.left + redis.right) / 2, y: (redis.top + redis.bottom) / 2 + (index - 0.4) * (2 * size + 8) }
}

/** @param {CanvasRenderingContext2D} context @param {Token} token @param {number} size @param {number} left @param {import('./stage.mjs').Colours} colours */
function drawToken(context, { key, x, y }, size, left, colours) {
  const isHeld = left > 0
  context.globalAlpha = isHeld ? 1 : 0.55
  context.beginPath()
  context.arc(x, y, size - 2, 0, 2 * Math.PI)
  context.fillStyle = isHeld ? colours.tone : colours.card
  context.fill()
  context.lineWidth = isHeld ? 2 : 1
  context.strokeStyle = isHeld ? colours.line : colours.soft
  context.beginPath()
  context.arc(x, y, size, 0, 2 * Math.PI)
  context.stroke()
  if (isHeld) {
    context.strokeStyle = colours.tone
    context.beginPath()
    context.arc(x, y, size, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * left)
    context.stroke()
  }
  context.fillStyle = isHeld ? colours.card : colours.soft
  context.font = `700 ${Math.round(size * 1.15)}px system-ui, sans-serif`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(words.initials[key], x, y + 0.5)
  context.globalAlpha = 1
}

/** @param {CanvasRenderingContext2D} context @param {Token} token @param {number} radius @param {number} alpha @param {import('./stage.mjs').Colours} colours */
function drawPulse(context, { x, y }, radius, alpha, { tone }) {
  context.globalAlpha = alpha
  context.strokeStyle = tone
  context.lineWidth = 1.5
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.stroke()
  context.globalAlpha = 1
}
