import type { Meters } from '../core/observe/metering.ts'

/** The required members of the module prom-client. It belongs to the user and is not configured. */
export interface MetricsClient {
  readonly Counter: new (about: About) => Counter
  readonly Gauge: new (about: About) => Gauge
  readonly Histogram: new (about: About & { buckets: number[] }) => Histogram
  /** The default register of metrics. */
  readonly register: MetricsRegister
}

/** The required members of a `Registry` of prom-client. */
export interface MetricsRegister {
  getSingleMetric(name: string): unknown
  registerMetric(metric: object): void
}

interface About {
  name: string
  help: string
  labelNames: string[]
  // Empty: the metric is registered separately, because only the user's own types know the class of the register.
  registers: never[]
}

interface Counter {
  inc(labels: Labels, by: number): void
}

interface Gauge {
  set(labels: Labels, value: number): void
}

interface Histogram {
  observe(labels: Labels, value: number): void
}

type Labels = Record<string, string>

/** The metrics of one cache in a register. */
export class Metrics implements Meters {
  readonly #client: MetricsClient
  readonly #register: MetricsRegister
  readonly #prefix: string
  readonly #buckets: readonly number[]
  readonly #labels: Labels

  /**
   * @param options.prefix the prefix of all names
   * @param options.buckets the upper bounds of histograms, in seconds
   * @param options.labels the labels of every sample
   */
  constructor(options: {
    client: MetricsClient
    register: MetricsRegister
    prefix: string
    buckets: readonly number[]
    labels: Labels
  }) {
    this.#client = options.client
    this.#register = options.register
    this.#prefix = options.prefix
    this.#buckets = options.buckets
    this.#labels = options.labels
  }

  counter(name: string, help: string, labels: Labels = {}): (by?: number) => void {
    const make = (about: About): Counter => new this.#client.Counter(about)
    const counter = this.#metric(`${name}_total`, help, labels, make)
    const all = { ...this.#labels, ...labels }
    // A rate needs its initial zero.
    counter.inc(all, 0)
    return (by = 1) => counter.inc(all, by)
  }

  bytes(name: string, help: string): (by: number) => void {
    return this.counter(name, help)
  }

  gauge(name: string, help: string, labels: Labels = {}): (value: number) => void {
    const gauge = this.#metric(name, help, labels, (about) => new this.#client.Gauge(about))
    const all = { ...this.#labels, ...labels }
    return (value) => gauge.set(all, value)
  }

  time(name: string, help: string, labels: Labels = {}): (ms: number) => void {
    const note = this.gauge(`${name}_seconds`, help, labels)
    return (ms) => note(ms / 1_000)
  }

  /** Observes seconds. */
  duration(name: string, help: string): (ms: number) => void {
    const buckets = [...this.#buckets]
    const make = (about: About): Histogram => new this.#client.Histogram({ ...about, buckets })
    const histogram = this.#metric(`${name}_seconds`, help, {}, make)
    return (ms) => histogram.observe(this.#labels, ms / 1_000)
  }

  /** The metric of this name, which another cache may have registered already. */
  #metric<Metric extends object>(name: string, help: string, labels: Labels, make: (about: About) => Metric): Metric {
    const full = this.#prefix + name
    const there = this.#register.getSingleMetric(full)
    if (there !== undefined) return there as Metric
    const labelNames = [...Object.keys(this.#labels), ...Object.keys(labels)]
    const metric = make({ name: full, help, labelNames, registers: [] })
    this.#register.registerMetric(metric)
    return metric
  }
}
