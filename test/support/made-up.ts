/** Happenings that are made up, for those who judge the judges. Where no process is said, it is the first. */
import type { Happening, Write } from './history.ts'

/** Some happenings, in any order. */
export type Story = readonly (Happening | Story)[]

/** The happenings of a story, one after the other. */
export function flat(story: Story): Happening[] {
  return (story as readonly unknown[]).flat(Infinity) as Happening[]
}

type Where = { process?: number; key?: string }

/** A caller asks. */
export function call(
  id: string,
  at: number,
  { process = 1, key = 'k', within = 31_000 }: Where & { within?: number } = {},
) {
  return { what: 'call', at, process, call: id, key, within } as const
}

/** The caller is told what a load or a set has made. */
export function got(id: string, at: number, by: string, { process = 1, key = 'k' }: Where = {}) {
  return { what: 'answer', at, process, call: id, value: { key, by } } as const
}

/** @param by the load that the error says it is of */
export function failed(id: string, at: number, error: string, { process = 1, by }: Where & { by?: string } = {}) {
  return { what: 'answer', at, process, call: id, error, ...(by === undefined ? {} : { by }) } as const
}

interface LoadOptions extends Where {
  /** The call that brought it. */
  by?: string
  /** `null` without a lease; by default it is the moment when it begins. */
  fence?: string | null
  ends?: 'value' | 'error' | 'pass'
}

/** A loader runs up to `to`, with a lease unless told otherwise. */
export function load(id: string, [from, to]: readonly [number, number], options: LoadOptions = {}): Happening[] {
  const { process = 1, key = 'k', by = '', fence = String(from), ends = 'value' } = options
  const began: Happening = { what: 'load', at: from, process, load: id, call: by, key, fence }
  return to === Infinity ? [began] : [began, { what: 'loaded', at: to, process, load: id, ends }]
}

/** Its signal is aborted. */
export function lost(id: string, at: number, { process = 1 }: Where = {}): Happening {
  return { what: 'lost', at, process, load: id, code: 'LEASE_LOST' }
}

interface WriteOptions extends Where {
  kind?: Write['kind']
  /** With which it is rejected. */
  error?: string
}

/** It begins, and has resolved or was rejected at `to`. */
export function write(id: string, [from, to]: readonly [number, number], options: WriteOptions = {}): Happening[] {
  const { process = 1, kind = 'invalidate', error } = options
  const began: Happening = { what: 'write', at: from, process, write: id, key: 'k', kind, within: 100 }
  const ended: Happening = { what: 'written', at: to, process, write: id, ...(error === undefined ? {} : { error }) }
  return to === Infinity ? [began] : [began, ended]
}
