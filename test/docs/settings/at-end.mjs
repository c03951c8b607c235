/** Closes the clients, caches and servers of a block's settings, so that the next block can run in the same process. */

/** @type {(() => unknown)[]} */
const opened = []

/** @param {() => unknown} close */
export function atEnd(close) {
  opened.push(close)
}

export async function release() {
  await Promise.all(opened.map((close) => close()))
}
