import type { Command } from 'commander'
import { clientLibrary, wayTo } from '../connected.ts'
import { ending } from '../ending.ts'
import { version } from '../package.ts'
import { Connections, Unreachable } from './connection.ts'
import { examine } from './examination.ts'
import { questionIn, takingQuestion, type DoctorOptions, type Question } from './options.ts'
import { wrapped } from '../terminal.ts'
import { asJson, asText, counted, failureAsJson, type Found } from './report.ts'

/** The shortest time that a server is given to answer a command, in milliseconds. */
const leastTimeout = 3_000

/** Adds `herdless doctor`. */
export function addDoctor(program: Command): void {
  takingQuestion(
    program
      .command('doctor')
      .summary('examines a Redis as a place for a cache, and names its faults')
      .description(
        'Examines a Redis or Valkey as a place for a cache, and names its faults; in a cluster, those of all masters. It writes ' +
          'under a key of its own, with an expiry, and deletes that again.',
      ),
  )
    .addHelpText(
      'after',
      '\nEnds with 0 if there is no problem (there may be warnings), with 1 if there is\none, and with 2 if nothing could be examined.',
    )
    .action(ending((urls: string[], options: DoctorOptions) => doctor(questionIn(urls, options))))
}

/** Resolves with the exit code: 0 without a problem, 1 with one, 2 if nothing could be examined. */
async function doctor(question: Question): Promise<number> {
  try {
    const found = await answered(question)
    console.log(question.json ? asJson(question, found, version()) : asText(question, found))
    return counted(found).problem > 0 ? 1 : 0
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    if (question.json) console.log(failureAsJson(error.message, version()))
    else console.error(wrapped(`Nothing could be examined: ${error.message}`, '', process.stderr))
    return 2
  }
}

async function answered(question: Question): Promise<Found> {
  const library = await clientLibrary('The doctor')
  const way = wayTo(question, library)
  const timeout = Math.max(leastTimeout, 2 * question.settings.commandTimeout)
  const connections = new Connections(library, way, timeout)
  try {
    return await examine(question, connections, way.addresses, way.database)
  } finally {
    connections.close()
  }
}
