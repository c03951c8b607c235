/** Gives back what the settings of a block have opened, so that the next block can run in the same process. */

/** @type {(() => unknown)[]} */
const opened = []

/** @param {() => unknown} close */
export function atEnd(close) {
  opened.push(close)
}

export async function release() {
  await Promise.all(opened.map((close) => close()))
}
