import { settled } from '../../support/fake-clock.ts'

/** How a call stands: it can be looked at while time stands still, and its error is nobody's unhandled rejection. */
export type Answer<T> = { state: 'pending' } | { state: 'value'; value: T } | { state: 'error'; error: unknown }

/** The answer of a call that has not ended. */
export const pending = { state: 'pending' } as const

/** The answer of a call that has ended with a value. */
export function valued<T>(value: T): Answer<T> {
  return { state: 'value', value }
}

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

/** The same as `answerOf`, once everything has happened that can happen before time passes. */
export async function asked<T>(promise: Promise<T>): Promise<Answer<T>> {
  const answer = answerOf(promise)
  await settled()
  return answer
}

/** The same as `answersOf`, once everything has happened that can happen before time passes. */
export async function allAsked<T>(promises: readonly Promise<T>[]): Promise<Answer<T>[]> {
  const answers = answersOf(promises)
  await settled()
  return answers
}
