/**
 * Says what the lab is doing: on a terminal one line that is written over and over, elsewhere a line for each step.
 *
 * @typedef {object} Progress
 * @property {(text: string) => void} say
 * @property {() => void} end
 */

/**
 * @param {import('node:tty').WriteStream} stream
 * @returns {Progress}
 */
export function showProgress(stream) {
  const start = performance.now()
  const seconds = () => `${Math.round((performance.now() - start) / 1_000)} s`.padStart(5)
  if (!stream.isTTY) return { say: (text) => stream.write(`${seconds()}  ${text}\n`), end() {} }

  let current = ''
  const draw = () => stream.write(`\r\x1b[2K${seconds()}  ${current} …`.slice(0, (stream.columns || 80) + 4))
  const ticking = setInterval(draw, 1_000)
  ticking.unref()
  return {
    say(text) {
      current = text
      draw()
    },
    end() {
      clearInterval(ticking)
      stream.write('\r\x1b[2K')
    },
  }
}
