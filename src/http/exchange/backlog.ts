import type { ServerResponse } from 'node:http'

/** The most bytes that may wait for a slow client, before it is cut off. */
const mostWaiting = 16_777_216

/** The bytes of an answer that wait for a client. */
export class ClientBacklog {
  readonly #response: ServerResponse
  /** Whether earlier middleware has replaced `write` and so may have a buffer of its own. */
  readonly #isHidden: boolean
  #sinceReady = 0

  /**
   * @param response as earlier middleware has left it
   */
  constructor(response: ServerResponse) {
    this.#response = response
    this.#isHidden = Object.hasOwn(response, 'write')
  }

  /**
   * Counts written bytes.
   * @param isReady the return value of `write`
   * @returns whether the client can take more at once
   */
  write(length: number, isReady: unknown): boolean {
    this.#sinceReady = isReady === false ? this.#sinceReady + length : 0
    return isReady !== false
  }

  /** Whether the client must be cut off. */
  get isTooLong(): boolean {
    return this.#response.writableLength > mostWaiting || (this.#isHidden && this.#sinceReady > mostWaiting)
  }
}
