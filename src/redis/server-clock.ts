import type { Clock } from '../core/time/clock.ts'

/**
 * How long a sample within a millisecond is good, in milliseconds: two clocks hardly drift apart by more in that time.
 * A wider one is good for so much less.
 */
const goodFor = 10_000

/** By how much the estimate may be behind the server's clock, in milliseconds. */
const mostBehind = 10

/**
 * An estimate of the Redis server's clock, from replies that carry its time.
 *
 * The server read its clock somewhere between our sending and our receiving, so each sample bounds the offset between
 * the two clocks from both sides; the bounds of several samples are intersected. A sample that contradicts them (the
 * server's clock was set, or another server answers now) starts afresh.
 */
export class ServerClock {
  readonly #clock: Clock
  readonly #time: () => Promise<readonly (string | number)[]>
  #least = Number.NEGATIVE_INFINITY
  #most = Number.POSITIVE_INFINITY
  #sampledAt = Number.NEGATIVE_INFINITY
  #asking = false
  #first: Promise<void> | null = null

  /** @param time asks the server: seconds, and microseconds besides */
  constructor(clock: Clock, time: () => Promise<readonly (string | number)[]>) {
    this.#clock = clock
    this.#time = time
  }

  get known(): boolean {
    return this.#sampledAt > Number.NEGATIVE_INFINITY
  }

  /** Asks for a sample now. */
  async ask(): Promise<void> {
    const sentAt = this.#clock.now()
    const [seconds, micros] = await this.#time()
    this.sample(Number(seconds) * 1_000_000 + Number(micros), sentAt)
  }

  /** Resolves when there is a sample; those who wait for the first one share it. */
  first(): Promise<void> {
    this.#first ??= this.ask().catch((error: unknown) => {
      this.#first = null
      throw error
    })
    return this.#first
  }

  /** Asks for a sample on the side, if the last one is old. */
  refresh(now: number): void {
    if (this.#asking || !this.#isOld(now)) return
    this.#asking = true
    const asked = (): void => void (this.#asking = false)
    this.ask().then(asked, asked)
  }

  #isOld(now: number): boolean {
    return now - this.#sampledAt > goodFor / Math.max(1, this.#most - this.#least)
  }

  /**
   * Milliseconds since the epoch by the server's clock, as well as they are known. Where a reply was long on its way, the
   * server's clock may be anywhere in between: then it is taken to be late, so that no value is served past its time.
   */
  now(): number {
    return this.at(this.#clock.now())
  }

  /** The same for a moment by our clock. */
  at(ours: number): number {
    return ours + Math.max((this.#least + this.#most) / 2, this.#most - mostBehind)
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
    if (contradicts || this.#isOld(receivedAt)) {
      this.#least = least
      this.#most = most
    } else {
      this.#least = Math.max(this.#least, least)
      this.#most = Math.min(this.#most, most)
    }
    this.#sampledAt = receivedAt
  }
}
