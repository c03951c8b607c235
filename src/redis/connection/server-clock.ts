import type { Clock } from '../../core/time/clock.ts'

/**
 * How long a sample with a width of up to a millisecond is valid, in milliseconds: two clocks hardly drift further
 * apart in that time. A wider sample is valid for proportionally less.
 */
const goodFor = 10_000

/** How far the estimate may be behind the server's clock, in milliseconds. */
const mostBehind = 10

/**
 * An estimate of the Redis server's clock, from replies with its time.
 *
 * The server read its clock between the sending and the receiving here, so each sample bounds the offset of the two
 * clocks from both sides. The bounds of several samples are intersected. A contradicting sample (the server's clock was
 * set, or another server answers) starts a new estimate.
 */
export class ServerClock {
  readonly #clock: Clock
  readonly #time: () => Promise<readonly unknown[]>
  #least = Number.NEGATIVE_INFINITY
  #most = Number.POSITIVE_INFINITY
  #sampledAt = Number.NEGATIVE_INFINITY
  #asking = false
  #first: Promise<void> | null = null

  /** @param time asks the server for seconds and microseconds */
  constructor(clock: Clock, time: () => Promise<readonly unknown[]>) {
    this.#clock = clock
    this.#time = time
  }

  get known(): boolean {
    return this.#sampledAt > Number.NEGATIVE_INFINITY
  }

  /** Takes a sample now. */
  async ask(): Promise<void> {
    const sentAt = this.#clock.now()
    const [seconds, micros] = await this.#time()
    this.sample(Number(seconds) * 1_000_000 + Number(micros), sentAt)
  }

  /** Resolves when there is a sample; all callers share the first one. */
  first(): Promise<void> {
    this.#first ??= this.ask().catch((error: unknown) => {
      this.#first = null
      throw error
    })
    return this.#first
  }

  /** Takes a sample in the background if the last one is old. */
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
   * The server's time as well as it is known, in milliseconds since 1970. If a reply was slow, the server's clock may
   * be anywhere within wide bounds: the estimate then stays near the late one, so that no value is served past its
   * time.
   */
  now(): number {
    return this.at(this.#clock.now())
  }

  /** The server's time at a moment by our clock. */
  at(ours: number): number {
    return ours + Math.max((this.#least + this.#most) / 2, this.#most - mostBehind)
  }

  /**
   * The earliest that the server's time may have been at a moment by our clock. The estimate of `at` follows a reply that
   * came seconds late, and would let a write that came as late pass for one in time.
   */
  earliestAt(ours: number): number {
    return ours + this.#least
  }

  /**
   * Adds a sample.
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
