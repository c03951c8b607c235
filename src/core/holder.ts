import { hostname } from 'node:os'

/** The process that holds a lease. */
export interface Holder {
  readonly host: string
  readonly pid: number
}

/** The longest name of a host that is told; with it, a lease stays in the small encoding of Redis (64 bytes a field). */
const longestHost = 56

/** What this process says of itself with its claims: `<pid>@<host>`. */
export function thisHolder(): string {
  return `${process.pid}@${hostname().slice(0, longestHost)}`
}

/** What such a text says; `null` for any other, which a stranger may have written. */
export function holderIn(text: string): Holder | null {
  const [, pid, host] = /^(\d{1,10})@(.{1,256})$/s.exec(text) ?? []
  return pid === undefined || host === undefined ? null : { host, pid: Number(pid) }
}
