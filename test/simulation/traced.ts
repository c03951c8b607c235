import type { PermitAnswer } from '../../src/core/contract/permits.ts'
import type { Claim, Entry } from '../../src/core/contract/store.ts'
import type { VirtualEvent } from '../../src/testing/index.ts'

/** What happened on the way to the store, in words. */
export function traced({ what, how, answer }: VirtualEvent): string {
  switch (how) {
    case 'sent':
      return `→ ${what}`
    case 'carried out':
      return `${what} runs: ${shown(answer)}`
    case 'failed':
      return `${what} fails: ${String(answer)}`
    case 'refused':
    case 'lost':
      return `${what} is ${how}`
    case 'too late':
      return `${what} comes ${how}`
    default:
      return `→ ${what}, which is ${how}`
  }
}

function shown(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return answer === undefined ? 'done' : JSON.stringify(answer)
  if (Array.isArray(answer)) return answer.join(', ')
  if ('payload' in answer) return shownEntry(answer as Entry)
  if ('granted' in answer) {
    const { granted, users, waiting } = answer as PermitAnswer
    return `${granted} granted, ${users} users, ${waiting.users} others wait for ${waiting.permits}`
  }
  const claim = answer as Claim
  if (claim.state === 'fresh') return `fresh ${shownEntry(claim.entry)}`
  return 'stale' in claim && claim.stale !== null ? `${claim.state}, stale ${shownEntry(claim.stale)}` : claim.state
}

function shownEntry({ payload, freshFor, staleFor }: Entry): string {
  const by = /"by":"([^"]+)"/.exec(payload.toString())?.[1]
  return `value of ${by} (fresh for ${freshFor} ms, stale for ${staleFor})`
}
