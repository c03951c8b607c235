import { time } from './units.ts'

/** Names and values in one line. */
export function asLine(head: string, members: Readonly<Record<string, string | number | bigint | null>>): string {
  const told = Object.entries(members).map(([name, value]) => `${name} ${value ?? 'unknown'}`)
  return `${head.padEnd(6)} ${told.join(', ')}`
}

/** A sentence of a cache with its times as this command writes them, but for what is quoted in it. */
export function inUnits(sentence: string): string {
  const [own = '', ...quoted] = sentence.split(/(?=[":])/)
  return own.replaceAll(/\b(\d+) ms\b/g, (_, ms) => time(Number(ms))) + quoted.join('')
}

/** An object as one line of JSON. */
export function asJson(told: object): string {
  return JSON.stringify(told, (_name, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    if (value instanceof Error) return { code: (value as { code?: unknown }).code, message: value.message }
    return value
  })
}
