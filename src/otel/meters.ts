import type { Attributes, Counter, Meter } from '@opentelemetry/api'
import type { Meters } from '../core/observe/metering.ts'

/** The metrics of one cache as OpenTelemetry instruments. */
export class Instruments implements Meters {
  readonly #meter: Meter
  readonly #buckets: readonly number[]
  readonly #attributes: Attributes
  readonly #counters = new Map<string, Counter>()

  /** @param buckets the upper bounds of histograms, in seconds */
  constructor(meter: Meter, namespace: string, buckets: readonly number[]) {
    this.#meter = meter
    this.#buckets = buckets
    this.#attributes = { 'herdless.namespace': namespace }
  }

  counter(name: string, help: string, labels: Readonly<Record<string, string>> = {}): (by?: number) => void {
    const counter = this.#counter(name, help)
    const { code, ...others } = labels
    const told = Object.entries(others).map(([label, value]) => [`herdless.${label}`, value])
    const attributes: Attributes = {
      ...this.#attributes,
      ...Object.fromEntries(told),
      ...(code === undefined ? {} : { 'error.type': code }),
    }
    // A rate needs its initial zero.
    counter.add(0, attributes)
    return (by = 1) => counter.add(by, attributes)
  }

  bytes(name: string, help: string): (by: number) => void {
    const counter = this.#counter(name, help, 'By')
    counter.add(0, this.#attributes)
    return (by) => counter.add(by, this.#attributes)
  }

  gauge(name: string, description: string): (value: number) => void {
    const gauge = this.#meter.createGauge(`herdless.${name}`, { description })
    return (value) => gauge.record(value, this.#attributes)
  }

  /** Records seconds. */
  duration(name: string, description: string): (ms: number) => void {
    const advice = { explicitBucketBoundaries: [...this.#buckets] }
    const histogram = this.#meter.createHistogram(`herdless.${name}.duration`, { description, unit: 's', advice })
    return (ms) => histogram.record(ms / 1_000, this.#attributes)
  }

  #counter(name: string, description: string, unit = ''): Counter {
    const counter = this.#counters.get(name) ?? this.#meter.createCounter(`herdless.${name}`, { description, unit })
    this.#counters.set(name, counter)
    return counter
  }
}
