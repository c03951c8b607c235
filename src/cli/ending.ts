import { CommanderError, type Command } from 'commander'

/** A host and a port, and perhaps a database, as they stand behind `redis://`. */
export const plainAddress: RegExp = /^(?:[\w.-]+|\[[\da-f:]+\]):\d+(?:\/\d*)?$/i

/** A command line that is malformed, or impossible in this environment; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** No server could be asked; the message says why, and contains no password. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** The action of a command: runs it, and ends the process with the code that it resolves with. */
export function ending<Given extends unknown[]>(
  run: (...given: Given) => Promise<number>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    process.exitCode = await run(...given)
  }
}

/**
 * The end of a command line that could not be carried out; `null` if it asked for help or for the version, and has got
 * it.
 * @param words the words of the command line, and others that may hold a password
 */
export function complaint(error: unknown, program: Command, words: readonly string[]): string | null {
  if (error instanceof CommanderError && error.exitCode === 0) return null
  // Without a command.
  if (error instanceof CommanderError && error.code === 'commander.help') return program.helpInformation().trimEnd()
  return `herdless: ${withoutSecrets(said(error, program, words), words)}`
}

function said(error: unknown, program: Command, [command]: readonly string[]): string {
  if (error instanceof Unanswered) return `Nobody could be asked: ${error.message}`
  if (!(error instanceof UsageError || error instanceof CommanderError)) {
    return String(error instanceof Error ? error.stack : error)
  }
  const named = program.commands.some((each) => each.name() === command) ? ` ${command}` : ''
  return `${error instanceof UsageError ? error.message : asSentence(error)}. \`herdless help${named}\` says more.`
}

/** An error of the parser, whose messages are like `error: unknown option '--tga'\n(Did you mean --tag?)`. */
function asSentence({ message }: CommanderError): string {
  const text = message
    .replace(/^error: /, '')
    .replace('\n', ' ')
    .replace(/\.$/, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Hides the words that may be URLs with a password, and the values of options that may be. */
function withoutSecrets(text: string, words: readonly string[]): string {
  const secrets = words
    .flatMap((word) => [word, word.slice(word.indexOf('=') + 1)])
    .filter((word) => /[:@]/.test(word) && !plainAddress.test(word))
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
}
