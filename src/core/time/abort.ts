/** The listeners of each signal that has some, with the function that ends the one listener of Node.js. */
const heard = new WeakMap<AbortSignal, { readonly listeners: Set<() => void>; readonly end: () => void }>()

/**
 * Listens for the end of a signal that has not aborted, with one listener of the signal for all: Node.js warns of a leak
 * when a signal has more than ten, and one request may ask for any number of keys.
 * @returns a function that ends it
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, end } = heard.get(signal) ?? listen(signal)
  listeners.add(listener)
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) end()
  }
}

function listen(signal: AbortSignal): { readonly listeners: Set<() => void>; readonly end: () => void } {
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  const end = (): void => {
    signal.removeEventListener('abort', tell)
    heard.delete(signal)
  }
  signal.addEventListener('abort', tell)
  const all = { listeners, end }
  heard.set(signal, all)
  return all
}
