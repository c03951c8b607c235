import type { ServerResponse } from 'node:http'
import { cutOff } from '../message/http2.ts'

/** The most bytes that may wait for a slow client, before it is cut off. */
const mostWaiting = 16_777_216

/** The ways to send a client a body, each with the arguments of the method of a response. */
export interface Outlet {
  readonly write: (args: readonly unknown[]) => unknown
  readonly end: (args: readonly unknown[]) => unknown
  /** Ends the answer as incomplete. */
  readonly cut: () => void
}

/** A client that is sent a body while it grows. */
export class BodyReader {
  readonly end: Outlet['end']
  readonly cut: Outlet['cut']
  /** Whether it can take more at once. */
  isReady = true
  readonly #response: ServerResponse
  readonly #write: Outlet['write']
  /** Whether earlier middleware has replaced `write` and so may have a buffer of its own. */
  readonly #isHidden: boolean
  #sinceReady = 0

  /**
   * @param response as earlier middleware has left it
   */
  constructor(response: ServerResponse, { write, end, cut }: Outlet = outletOf(response)) {
    this.end = end
    this.cut = cut
    this.#response = response
    this.#write = write
    this.#isHidden = Object.hasOwn(response, 'write')
  }

  /** Whether so much waits for it that it must be cut off, if others read the same body. */
  get isTooSlow(): boolean {
    return this.#response.writableLength > mostWaiting || (this.#isHidden && this.#sinceReady > mostWaiting)
  }

  /** @param length of the chunk, in bytes */
  write(length: number, args: readonly unknown[]): void {
    this.isReady = this.#write(args) !== false
    this.#sinceReady = this.isReady ? 0 : this.#sinceReady + length
  }
}

function outletOf(response: ServerResponse): Outlet {
  return {
    write: ([chunk]) => response.write(chunk),
    end: ([chunk]) => response.end(chunk),
    cut: () => cutOff(response),
  }
}
