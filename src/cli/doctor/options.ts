import { Option, type Command } from 'commander'
import { durationIn, planned, takingUrls, targetIn, type Target, type TargetOptions } from '../target.ts'

/** The question to the doctor. */
export interface Question extends Target {
  /** The user whose rights are examined, if that is not the user of the connection. */
  readonly aclUser: string | null
  readonly json: boolean
  readonly settings: Settings
}

/** The planned use of the cache. */
export interface Settings {
  readonly namespace: string
  readonly wakeUp: 'push' | 'poll'
  /** Milliseconds. */
  readonly leaseTtl: number
  readonly commandTimeout: number
}

/** The options of the doctor, as given. */
export interface DoctorOptions extends TargetOptions {
  readonly namespace?: string
  readonly wakeUp: 'push' | 'poll'
  readonly leaseTtl?: string
  readonly commandTimeout?: string
  readonly aclUser?: string
  readonly json?: true
}

/** Adds the options of the doctor to its command. */
export function takingQuestion(command: Command): Command {
  const own = command
    .option('--namespace <name>', 'the namespace of the cache (default: herdless)')
    .addOption(new Option('--wake-up <way>', 'the wakeUp of the store').choices(['push', 'poll']).default('push'))
    .option('--lease-ttl <time>', 'the leaseTtl of the cache (default: 10s)')
    .option('--command-timeout <time>', 'the commandTimeout of the cache (default: 500ms)')
    .option(
      '--acl-user <name>',
      'examine the rights of this user instead of those of the connected one, who needs the right to ACL DRYRUN (Redis 7.0)',
    )
    .option('--json', 'the findings as one line of JSON')
  return takingUrls(own)
}

/**
 * The question in a command line.
 * @throws UsageError
 */
export function questionIn(urls: readonly string[], options: DoctorOptions): Question {
  const target = targetIn(options, urls)
  const { namespace, leaseTtl, commandTimeout } = planned({
    namespace: options.namespace,
    leaseTtl: durationIn('--lease-ttl', options.leaseTtl),
    commandTimeout: durationIn('--command-timeout', options.commandTimeout),
  })
  return {
    ...target,
    aclUser: options.aclUser ?? null,
    json: options.json === true,
    settings: { namespace, wakeUp: options.wakeUp, leaseTtl, commandTimeout },
  }
}
