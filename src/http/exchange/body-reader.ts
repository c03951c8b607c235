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
  /** Whether it can take more at once. */
  isReady = true
  readonly #response: ServerResponse
  readonly #outlet: Outlet
  /** Whether earlier middleware has replaced `write` and so may have a buffer of its own. */
  readonly #isHidden: boolean
  #sinceReady = 0

  /**
   * @param response as earlier middleware has left it
   */
  constructor(response: ServerResponse, outlet: Outlet = outletOf(response)) {
    this.#response = response
    this.#outlet = outlet
    this.#isHidden = Object.hasOwn(response, 'write')
  }

  /** Whether so much waits for it that it must be cut off, if others read the same body. */
  get isTooSlow(): boolean {
    return this.#response.writableLength > mostWaiting || (this.#isHidden && this.#sinceReady > mostWaiting)
  }

  /**
   * @param length of the chunk, in bytes
   * @param args those of `write`
   */
  write(length: number, args: readonly unknown[]): void {
    this.isReady = this.#outlet.write(args) !== false
    this.#sinceReady = this.isReady ? 0 : this.#sinceReady + length
  }

  end(args: readonly unknown[]): void {
    this.#outlet.end(args)
  }

  cut(): void {
    this.#outlet.cut()
  }
}

function outletOf(response: ServerResponse): Outlet {
  return {
    write: ([chunk]) => response.write(chunk),
    end: ([chunk]) => response.end(chunk),
    cut: () => cutOff(response),
  }
}
