import type { Clock } from '../core/clock.ts'

/** After this long without a sample, in milliseconds, the two clocks may have drifted apart by a millisecond. */
const goodFor = 10_000

/**
 * An estimate of the Redis server's clock, from replies that carry its time.
 *
 * The server read its clock somewhere between our sending and our receiving, so each sample bounds the offset between
 * the two clocks from both sides; the bounds of several samples are intersected. A sample that contradicts them (the
 * server's clock was set, or another server answers now) starts afresh.
 */
export class ServerClock {
  readonly #clock: Clock
  #least = Number.NEGATIVE_INFINITY
  #most = Number.POSITIVE_INFINITY
  #sampledAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get known(): boolean {
    return this.#sampledAt > Number.NEGATIVE_INFINITY
  }

  /** Whether the estimate wants another sample. */
  get old(): boolean {
    return this.#clock.now() - this.#sampledAt > goodFor
  }

  /** Milliseconds since the epoch by the server's clock, as well as they are known. */
  now(): number {
    return this.#clock.now() + (this.#least + this.#most) / 2
  }

  /**
   * @param serverMicros the server's time in a reply, in microseconds
   * @param sentAt when the command was sent, by our clock
   */
  sample(serverMicros: number, sentAt: number): void {
    const serverNow = serverMicros / 1_000
    const receivedAt = this.#clock.now()
    const least = serverNow - receivedAt
    const most = serverNow - sentAt
    const contradicts = least > this.#most || most < this.#least
    if (contradicts || this.old) {
      this.#least = least
      this.#most = most
    } else {
      this.#least = Math.max(this.#least, least)
      this.#most = Math.min(this.#most, most)
    }
    this.#sampledAt = receivedAt
  }
}
