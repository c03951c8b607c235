import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { time } from '../../units.ts'

const voice = about('persistence', 'docs/production.md#persistence')

/** Checks the data that survive a restart, the success of persistence, and the time for which it blocks the server. */
export function persistence({ facts, settings }: Subject): Finding[] {
  const appendOnly = facts.info('aof_enabled')
  if (appendOnly === undefined) return [voice.note('Not allowed to look at what is kept over a restart')]
  const findings: Finding[] = []
  const savePoints = facts.config('save')
  if (appendOnly === '1' && facts.info('aof_last_write_status') === 'err') {
    const todo = 'All writes are refused (MISCONF) until there is room, or the permission to write.'
    findings.push(voice.problem('The last write to the append-only file failed', todo))
  }
  if (facts.info('rdb_last_bgsave_status') === 'err') {
    const stops = facts.config('stop-writes-on-bgsave-error') !== 'no' && savePoints !== ''
    const todo = 'Look into the log of the server: most often the disk is full or not writable.'
    findings.push(
      stops
        ? voice.problem('The last snapshot failed, and so all writes are refused (MISCONF)', todo)
        : voice.warning('The last snapshot failed', todo),
    )
  }
  const fork = (facts.count('latest_fork_usec') ?? 0) / 1_000
  if (fork > settings.commandTimeout / 2) {
    findings.push(
      voice.warning(
        `The last fork, for a snapshot or for the append-only file, took ${time(fork)}`,
        `Nothing is answered meanwhile, and after ${time(settings.commandTimeout)} (commandTimeout) the server ` +
          'counts as away. Use less memory a server, or let a replica do it.',
      ),
    )
  }
  return findings.length > 0 ? findings : [kept(appendOnly === '1', savePoints, facts)]
}

function kept(appendOnly: boolean, savePoints: string | undefined, facts: Subject['facts']): Finding {
  if (appendOnly) {
    const sync = facts.config('appendfsync') ?? 'unknown'
    if (sync === 'always') return voice.ok('Append-only file, synced with every write: a restart loses nothing')
    return voice.note(
      `Append-only file (appendfsync ${sync})`,
      'After a crash the last second or two may be missing: ' +
        'values that were invalidated in it are back until they expire.',
    )
  }
  if (savePoints === '')
    return voice.ok('Nothing is kept over a restart: it comes back empty, which costs one load per key')
  const saved = facts.count('rdb_last_save_time')
  const age = saved === undefined ? '' : `, the last one ${time(Math.max(0, Date.now() - 1_000 * saved))} ago`
  return voice.note(
    savePoints === undefined ? `Perhaps snapshots${age}` : `Snapshots (save ${savePoints})${age}`,
    'After a crash it comes back as it was then: values that were invalidated since are back until they expire. ' +
      'A server that holds nothing but caches needs no snapshots.',
  )
}
