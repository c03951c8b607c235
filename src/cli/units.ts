/** A number of bytes in words. */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let unit = 0
  let rest = count
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024
    unit++
  }
  if (unit === 0) return many(Math.round(rest), 'byte')
  return `${rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`
}

/** Milliseconds in words, with about two significant digits. */
export function time(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(2))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 10) return `${seconds.toFixed(1).replace('.0', '')} s`
  if (seconds < 600) return `${Math.round(seconds)} s`
  if (seconds < 36_000) return `${Math.round(seconds / 60)} min`
  return seconds < 864_000 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

/** A number of things. */
export function many(count: number, thing: string, things = `${thing}s`): string {
  return `${count} ${count === 1 ? thing : things}`
}
