import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { longestInline } from '../../../core/options/plan.ts'
import { bytes, many, percent } from '../../units.ts'

const voice = about('connections', 'docs/production.md#connections')

/** The number of connections, its limit, and the settings that end connections. */
export function clients({ facts, settings }: Subject): Finding[] {
  const connected = facts.count('connected_clients')
  const most = facts.count('maxclients') ?? facts.setting('maxclients')
  const findings: Finding[] = []
  if (connected === undefined || most === undefined)
    findings.push(voice.note('Not allowed to look at how many there may be'))
  else if (connected >= 0.8 * most) {
    const what = `${connected} of ${most} (maxclients), ${percent(connected / most)}`
    findings.push(
      voice.warning(what, `A process needs ${needed(settings.wakeUp)}; one too many is turned away. Raise maxclients.`),
    )
  }
  const rejected = facts.count('rejected_connections') ?? 0
  if (rejected > 0) {
    const what = `${many(rejected, 'connection')} turned away since it was started (maxclients ${most})`
    findings.push(voice.warning(what, 'A process without its connection loads for itself. Raise maxclients.'))
  }
  const timeout = facts.setting('timeout') ?? 0
  if (timeout > 0) {
    const what = `Connections that are silent for ${timeout} s are ended (timeout)`
    findings.push(
      voice.note(
        what,
        'Not those that listen. A process that is quiet for so long connects anew with its next command.',
      ),
    )
  }
  if (facts.setting('tcp-keepalive') === 0) {
    const todo =
      'The connections of a machine that vanished stay for ever, and the leases of its processes until they run out. ' +
      'Set it to 60.'
    findings.push(voice.warning('The server does not probe silent connections (tcp-keepalive 0)', todo))
  }
  findings.push(...buffers(facts.config('client-output-buffer-limit')))
  if (findings.length === 0)
    findings.push(voice.ok(`${connected} of ${most} (maxclients); a process needs ${needed(settings.wakeUp)}`))
  return findings
}

function needed(wakeUp: 'push' | 'poll'): string {
  return wakeUp === 'push' ? 'two' : 'one'
}

/** Whether the server buffers enough messages for a process that is busy for a moment. */
function buffers(limits: string | undefined): Finding[] {
  const [, hard = '0', soft = '0'] = /\bpubsub (\d+) (\d+)/.exec(limits ?? '') ?? []
  const least = Math.min(...[hard, soft].map(Number).filter((limit) => limit > 0))
  const wanted = 256 * longestInline
  if (!(least < wanted)) return []
  const what = `The server keeps at most ${bytes(least)} for a listener (client-output-buffer-limit pubsub)`
  const messages = many(Math.floor(least / longestInline), 'message')
  const todo = `A process that is busy for a moment is cut off after ${messages} of ${bytes(longestInline)}. Raise it.`
  return [voice.warning(what, todo)]
}
