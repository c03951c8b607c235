import type { Attributes, Counter, Meter, MetricOptions } from '@opentelemetry/api'
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
    const attributes: Attributes = {
      ...this.#attributes,
      ...named(others),
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

  gauge(name: string, help: string, labels?: Readonly<Record<string, string>>): (value: number) => void {
    return this.#gauge(name, { description: help }, labels)
  }

  time(name: string, help: string, labels?: Readonly<Record<string, string>>): (ms: number) => void {
    const note = this.#gauge(name, { description: help, unit: 's' }, labels)
    return (ms) => note(ms / 1_000)
  }

  #gauge(name: string, about: MetricOptions, labels: Readonly<Record<string, string>> = {}): (value: number) => void {
    const gauge = this.#meter.createGauge(`herdless.${name}`, about)
    const attributes = { ...this.#attributes, ...named(labels) }
    return (value) => gauge.record(value, attributes)
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

/** Labels as attributes. */
function named(labels: Readonly<Record<string, string>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [`herdless.${label}`, value]))
}
