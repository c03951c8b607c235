/**
 * Where things stand in a scene, as its style sheet has laid them out; in pixels.
 *
 * @typedef {{ left: number, right: number, top: number, bottom: number }} Box
 * @typedef {{ box: Box, park: Box, middle: number }} Row  a process, and where its requests wait
 * @typedef {{ rows: Row[], redis: Box, database: Box, queue: Box, rowHeight: number, pitch: number, radius: number }} Places
 */

/** @param {HTMLElement} scene @returns {Places} */
export function layOut(scene) {
  const origin = scene.getBoundingClientRect()
  const boxOf = (/** @type {Element | null} */ place) => {
    const { left, right, top, bottom } = /** @type {Element} */ (place).getBoundingClientRect()
    return { left: left - origin.left, right: right - origin.left, top: top - origin.top, bottom: bottom - origin.top }
  }
  const isNarrow = origin.width < 480
  const database = boxOf(scene.querySelector('.database'))
  const label = boxOf(scene.querySelector('.under-way'))
  const inset = isNarrow ? 6 : 10
  const rows = [...scene.querySelectorAll('.process')].map((row) => {
    const box = boxOf(row.querySelector('.box'))
    return { box, park: boxOf(row.querySelector('.park')), middle: (box.top + box.bottom) / 2 }
  })
  return {
    rows,
    rowHeight: (rows[0]?.box.bottom ?? 0) - (rows[0]?.box.top ?? 0),
    redis: boxOf(scene.querySelector('.redis')),
    database,
    queue: {
      left: database.left + inset,
      right: database.right - inset,
      top: label.bottom + 8,
      bottom: database.bottom - inset,
    },
    pitch: isNarrow ? 4.5 : 7.5,
    radius: isNarrow ? 1.7 : 2.7,
  }
}

/**
 * The places of some dots in a box, closer together where there are many: a line that grows away from its process, or a
 * heap that grows from the ground.
 * @param {number} count @param {Box} box @param {number} pitch @param {'line' | 'heap'} shape
 */
export function grid(count, { left, right, top, bottom }, pitch, shape) {
  const [width, height] = [right - left, bottom - top]
  const fits = Math.max(1, Math.floor(width / pitch) * Math.floor(height / pitch))
  const step = count <= fits ? pitch : pitch * Math.sqrt(fits / count) * 0.97
  const perLine = Math.max(1, Math.floor((shape === 'line' ? height : width) / step))
  const margin = (height - Math.min(perLine, Math.max(count, 1)) * step) / 2
  const at = (/** @type {number} */ index) => {
    const [line, place] = [(Math.floor(index / perLine) + 0.5) * step, ((index % perLine) + 0.5) * step]
    return shape === 'line' ? { x: left + line, y: top + margin + place } : { x: left + place, y: bottom - line }
  }
  return { step, at }
}
