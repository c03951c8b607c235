import type { Happening } from '../support/history.ts'
import type { LoaderPlan, Schedule } from './schedule.ts'
import type { Run } from './simulate.ts'

/** A run in words, a line for each thing that happened; `run` must have told. */
export function told(run: Run): string {
  const happened = run.notes.happenings.map((happening) => ({
    at: happening.at,
    process: 'process' in happening ? happening.process : 0,
    what: inWords(happening, run),
  }))
  const closed = [...run.notes.closing].flatMap(([process, { at, timeout, closedAt, error }]) => [
    { at, process, what: `closes, within ${timeout} ms` },
    { at: closedAt, process, what: error === null ? 'has closed' : `has closed with ${error}` },
  ])
  const lines = [...happened, ...closed, ...run.told]
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, process, what }) => `${at.toFixed(0).padStart(7)}  ${process === 0 ? '  ' : `p${process}`}  ${what}`)
  return [...surroundings(run.schedule), '', ...lines].join('\n')
}

function surroundings({ seed, processes, keys, options, most, network, operations, faults }: Schedule): string[] {
  return [
    `seed ${seed}: ${processes} processes, keys ${keys.join(' ')}, ${operations.length} operations`,
    `options  ${pairs(options)}`,
    `network  ${pairs(network)}, the store keeps ${most} values`,
    `faults   ${faults.map((fault) => pairs(fault)).join(' | ') || 'none'}`,
  ]
}

function inWords(happening: Happening, { notes }: Run): string {
  switch (happening.what) {
    case 'call': {
      const asked = notes.asked.get(happening.call)
      const { call, key } = happening
      if (asked?.peek) return `${call} peeks at ${key}`
      const leaves = asked?.leaves == null ? '' : `, leaves after ${asked.leaves} ms`
      const by = asked?.by == null ? '' : `, by the loader ${asked.by}`
      return `${call} asks for ${key}${by}${leaves} ${pairs(asked?.options ?? {})}`
    }
    case 'answer': {
      const { call, error, by, value } = happening
      if (error !== undefined) return `${call} gets ${error}${by === undefined ? '' : ` of ${by}`}`
      return `${call} gets the value of ${(value as { by?: unknown }).by}`
    }
    case 'load': {
      const { load, key, call, fence } = happening
      const plan = notes.loading.get(load)?.plan
      return `${load} loads ${key} for ${call}, ${fence === null ? 'without a lease' : `fence ${fence}`}: ${plan && loader(plan)}`
    }
    case 'lost':
      return `${happening.load} is told ${happening.code}`
    case 'loaded':
      return `${happening.load} ends with ${happening.ends}`
    case 'write':
      return `${happening.write} begins: ${happening.kind} ${happening.key}`
    case 'written':
      return `${happening.write} ${happening.error === undefined ? 'has resolved' : `is rejected with ${happening.error}`}`
    case 'killed':
    case 'stopped':
    case 'resumed':
      return happening.what
    case 'fault':
    case 'healed':
      return `${happening.what}: ${happening.name}`
    case 'seen':
      return `${happening.leases.length} leases are seen`
  }
}

function loader({ takes, ends, ttl, heeds = false, nested }: LoaderPlan): string {
  const says = ttl === undefined ? '' : `, says ttl ${ttl}`
  const asks = nested === undefined ? '' : `, asks for ${nested.key}`
  return `${takes} ms${asks}, then ${ends}${says}${heeds ? ', heeds its signal' : ''}`
}

function pairs(some: object): string {
  return Object.entries(some)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}
