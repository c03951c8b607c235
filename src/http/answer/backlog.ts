import type { ServerResponse } from 'node:http'

/** How much of an answer may wait for a client that is slower than others, in bytes; it is then cut off. */
const mostWaiting = 16_777_216

/** How much of an answer waits for a client. */
export class Backlog {
  readonly #response: ServerResponse
  /** Whether what stands before takes what is written, and has a buffer of its own. */
  readonly #isHidden: boolean
  #sinceReady = 0

  /** @param response as what stands before has left it */
  constructor(response: ServerResponse) {
    this.#response = response
    this.#isHidden = Object.hasOwn(response, 'write')
  }

  /**
   * Notes that some bytes were written.
   * @param isReady what `write` said
   * @returns whether the client can take more at once
   */
  write(length: number, isReady: unknown): boolean {
    this.#sinceReady = isReady === false ? this.#sinceReady + length : 0
    return isReady !== false
  }

  /** Whether the client is to be cut off. */
  get isTooLong(): boolean {
    return this.#response.writableLength > mostWaiting || (this.#isHidden && this.#sinceReady > mostWaiting)
  }
}
