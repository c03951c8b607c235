import { namespacePrefix } from '../../../core/entry/key.ts'
import type { Reply } from '../connection.ts'
import { about, type Finding } from '../finding.ts'
import { inboxOf, lockNeeds, needs, type Need } from './needs.ts'
import type { Subject } from './subject.ts'

const voice = about('rights', 'docs/redis.md#a-user-with-the-least-rights')
const voiceOfLocks = about('locks', 'docs/locks.md#on-redis')

/** The missing rights, as terms of an ACL rule. */
interface Missing {
  readonly words: Set<string>
  /** Commands that the server does not have. */
  readonly unknown: Set<string>
}

/** Whether the user has all rights that caches and locks need: each is tried, or looked up with ACL DRYRUN. */
export async function rights(subject: Subject): Promise<Finding[]> {
  const { connection, key, settings, aclUser } = subject
  const channel = inboxOf(`doctor-${key.slice(-16)}`)
  const who = aclUser ?? ((await connection.text('ACL', 'WHOAMI')) || connection.user)
  const needed = needs(key, channel).filter(({ where }) => isNeeded(where, subject))
  const missing = await missingOf(needed, subject)
  if ('notLookedUp' in missing) return [notLookedUp(who, missing.notLookedUp)]
  const ofLocks = await locksOf(subject, who, missing.words)
  const what = lacks(missing, who)
  if (what === '') {
    const patterns = settings.wakeUp === 'push' ? ', the keys and the channel' : ' and the keys'
    return [voice.ok(`User ${who} has all rights: ${needed.length} commands${patterns}`), ...ofLocks]
  }
  const consequence = 'What is refused counts as a failure of the store: callers load for themselves.'
  const finding = missing.essential
    ? voice.problem(what, `${ruleFor(missing, who)}${consequence}`)
    : voice.warning(what, `${ruleFor(missing, who)}The library does without, less well.`)
  return [finding, ...ofLocks]
}

/**
 * Whether the user could use locks. An application need not use any, so it is no problem if not.
 * @param known the missing rights of caches, some of which locks need, too
 */
async function locksOf(subject: Subject, who: string, known: ReadonlySet<string>): Promise<Finding[]> {
  const needed = lockNeeds(subject.key, '')
  const shared = ['&herdless:inbox:*', ...needed.flatMap(({ keys, word }) => (keys === undefined ? word : []))]
  const ofKeys = needed.filter(({ keys }) => keys !== undefined)
  const missing = await missingOf(ofKeys, subject)
  if ('notLookedUp' in missing) return []
  for (const word of shared) if (known.has(word)) missing.words.add(word)
  const what = lacks(missing, who)
  if (what === '') return [voiceOfLocks.ok(`User ${who} may use locks with the prefix lock:`)]
  return [
    voiceOfLocks.note(`For locks: ${what}`, `${ruleFor(missing, who)}Only an application with redisLock needs it.`),
  ]
}

/** The missing ones of some rights, and whether one of them is essential; or why they could not be looked up. */
async function missingOf(
  needed: readonly Need[],
  subject: Subject,
): Promise<(Missing & { readonly essential: boolean }) | { readonly notLookedUp: string }> {
  const { settings, aclUser } = subject
  const missing: Missing = { words: new Set(), unknown: new Set() }
  let essential = false
  const answers = await Promise.all(
    needed.map((need) => (aclUser === null ? tried(subject, need) : lookedUp(subject, aclUser, need))),
  )
  for (const [index, need] of needed.entries()) {
    const answer = answers[index] as Reply
    if (!('refused' in answer)) continue
    if (aclUser !== null && !isPermission(answer.refused)) return { notLookedUp: answer.refused }
    const noted = note(missing, need, answer.refused, settings.namespace)
    essential ||= noted && need.dispensable !== true
  }
  return { ...missing, essential }
}

function ruleFor({ words }: Missing, who: string): string {
  return words.size === 0 ? '' : `ACL SETUSER ${who} ${[...words].join(' ')}. `
}

/** The missing rights in a sentence; `''` if there are none. */
function lacks({ words, unknown }: Missing, who: string): string {
  const forbidden = words.size === 0 ? '' : `User ${who} has no right to ${[...words].join(' ')}`
  const commands = unknown.size === 0 ? '' : `The server has no ${[...unknown].join(', no ')}`
  return [forbidden, commands].filter((text) => text !== '').join('. ')
}

function isNeeded(where: Need['where'], { settings, library, kind, database }: Subject): boolean {
  switch (where) {
    case 'everywhere':
      return true
    case 'push':
      return settings.wakeUp === 'push'
    case 'push on node-redis':
      return settings.wakeUp === 'push' && library === 'node-redis'
    case 'push on a cluster':
      return settings.wakeUp === 'push' && kind === 'cluster'
    case 'cluster':
      return kind === 'cluster'
    case 'database':
      return database !== 0
  }
}

async function tried({ connection, connect, database }: Subject, { word, call }: Need): Promise<Reply> {
  const [command, ...args] = call
  if (word === '+select') return connection.ask(command, database)
  if (word !== '+subscribe') return connection.ask(command, ...args)
  // A connection with a subscription can run few other commands.
  const subscriber = await connect()
  try {
    return await subscriber.subscribe(args[0] as string)
  } finally {
    subscriber.close()
  }
}

async function lookedUp({ connection }: Subject, user: string, { call }: Need): Promise<Reply> {
  const answer = await connection.ask('ACL', 'DRYRUN', user, ...call)
  return 'refused' in answer || answer.reply === 'OK' ? answer : { refused: String(answer.reply) }
}

/** Notes a refusal. Returns whether it shows a missing right; any other error means that the right is there. */
function note({ words, unknown }: Missing, { word, keys }: Need, refused: string, namespace: string): boolean {
  if (/^ERR unknown (sub)?command/i.test(refused)) {
    unknown.add(word.slice(1).replace('|', ' ').toUpperCase())
    return true
  }
  if (/^ERR Could not find scripting engine/i.test(refused)) {
    unknown.add('engine for scripts in Lua (a module of Valkey, which is not loaded)')
    return true
  }
  if (!isPermission(refused)) return false
  // The sentence endings of Redis 6.2, 7.0 and 7.2; the names in them may contain any word.
  if (/\bkeys?( used as arguments)?$/.test(refused)) words.add(keys ?? `~{${namespacePrefix(namespace)}*`)
  else if (/\bchannels?( used as arguments)?$/.test(refused)) words.add('&herdless:inbox:*')
  else words.add(word)
  return true
}

function isPermission(refused: string): boolean {
  return /^NOPERM|no permissions? to|can't (run|access)/i.test(refused)
}

function notLookedUp(user: string, refused: string): Finding {
  return voice.problem(
    `The rights of user ${user} could not be looked up: ${refused}`,
    'ACL DRYRUN needs Redis 7.0 and a user with that right. ' +
      'Without --acl-user, the rights of the one who is logged in are tried.',
  )
}
