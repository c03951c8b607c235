import type { RedisServer } from '../support/servers.ts'
import { doc } from './markdown.ts'

/** What a user is refused. */
export interface Denied {
  readonly reason: string
  readonly object: string
}

/** The words of the rule in the block `acl=<name>` of a page, from the name of the user on. */
export function ruleOn(page: string, name: string): string[] {
  const line = doc(page).blocks.find(({ info }) => info === `acl=${name}`)?.code ?? ''
  const [command, subcommand, ...words] = line.split(/\s+/)
  if (command !== 'ACL' || subcommand !== 'SETUSER') throw new Error(`Expected a rule acl=${name} on ${page}`)
  return words
}

/** Makes the user of a rule anew, and forgets what was refused. */
export async function allow({ client }: RedisServer, words: readonly string[]): Promise<void> {
  const [user = '', ...rights] = words
  await client.call('ACL', 'DELUSER', user)
  await client.call('ACL', 'SETUSER', user, ...rights)
  await client.call('ACL', 'LOG', 'RESET')
}

/** What was refused since then. */
export async function denied({ client }: RedisServer): Promise<Denied[]> {
  const log = (await client.call('ACL', 'LOG', 100)) as string[][]
  return log.map((entry) => {
    const value = (name: string): string => String(entry[entry.indexOf(name) + 1])
    return { reason: value('reason'), object: value('object') }
  })
}

/** What a word of a rule allows, as `denied` names it when it is missing. */
export function refusedWithout(word: string): string {
  if (word.startsWith('~')) return 'key'
  if (word.startsWith('&')) return 'channel'
  return `+${word.slice(1).split('|')[0]}`
}

/** What was refused, as `refusedWithout` names it. */
export function named(refusals: readonly Denied[]): string[] {
  return refusals.map(({ reason, object }) => (reason === 'command' ? `+${object.split('|')[0]}` : reason))
}
