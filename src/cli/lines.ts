/** Names and values in one line; numbers are rounded. */
export function asLine(head: string, members: Readonly<Record<string, string | number | bigint | null>>): string {
  const told = Object.entries(members).map(([name, value]) => `${name} ${shown(value)}`)
  return `${head.padEnd(6)} ${told.join(', ')}`
}

/** An object as one line of JSON. */
export function asJson(told: object): string {
  return JSON.stringify(told, (_name, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    if (value instanceof Error) return { code: (value as { code?: unknown }).code, message: value.message }
    return value
  })
}

function shown(value: string | number | bigint | null): string {
  return typeof value === 'number' ? String(Math.round(value)) : String(value ?? 'unknown')
}
