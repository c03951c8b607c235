/** How a call stands: it can be looked at while time stands still, and its error is nobody's unhandled rejection. */
export type Answer<T> = { state: 'pending' } | { state: 'value'; value: T } | { state: 'error'; error: unknown }

/** What becomes of a promise. The object changes when the promise settles. */
export function answerOf<T>(promise: Promise<T>): Answer<T> {
  const answer: Answer<T> = { state: 'pending' }
  promise.then(
    (value) => Object.assign(answer, { state: 'value', value }),
    (error: unknown) => Object.assign(answer, { state: 'error', error }),
  )
  return answer
}

/** What becomes of each promise. */
export function answersOf<T>(promises: readonly Promise<T>[]): Answer<T>[] {
  return promises.map(answerOf)
}
