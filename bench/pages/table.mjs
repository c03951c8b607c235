/** Pieces of the pages that are written from results. */

/** @typedef {{ node: string, redis: string, cpu: string, cores: number }} Machine */

/** A table of Markdown. @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
export function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The machine of a measurement, as the end of a sentence. @param {Machine} machine */
export function on({ node, redis, cpu, cores }) {
  return `with Node.js ${node} and Redis ${redis} on ${cores} cores (${cpu}), all on one machine`
}

/** @param {number} figure */
export function rounded(figure) {
  if (figure >= 100) return Math.round(figure).toLocaleString('en')
  return figure === 0 ? '0' : String(Number(figure.toPrecision(3)))
}

/** A ratio, with as many digits as mean something. @param {number} ratio */
export function multiple(ratio) {
  if (ratio >= 99.5) return Math.round(ratio).toLocaleString('en')
  return ratio >= 9.95 ? ratio.toFixed(0) : ratio.toFixed(ratio < 0.095 ? 3 : 2)
}
