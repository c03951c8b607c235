import { ioredis, wayTo } from '../ioredis.ts'
import { packageFolder, version } from '../package.ts'
import { Connections, Unreachable } from './connection.ts'
import { examine } from './examination.ts'
import { help, questionIn, type Question } from './options.ts'
import { asJson, asText, counted, failureAsJson, type Found } from './report.ts'

/** The shortest time that a server is given to answer a command, in milliseconds. */
const leastPatience = 3_000

/**
 * Runs `herdless doctor`; resolves with the exit code: 0 without a problem, 1 with one, 2 if nothing could be examined.
 */
export async function doctor(args: readonly string[]): Promise<number> {
  const question = questionIn(args)
  if (question === null) {
    console.log(help)
    return 0
  }
  try {
    const found = await answered(question)
    console.log(question.json ? asJson(question, found, version()) : asText(question, found, packageFolder()))
    return counted(found).problem > 0 ? 1 : 0
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    if (question.json) console.log(failureAsJson(error.message, version()))
    else console.error(`Nothing could be examined: ${error.message}`)
    return 2
  }
}

async function answered(question: Question): Promise<Found> {
  const library = await ioredis('The doctor')
  const { addresses, options } = wayTo(question, library)
  const patience = Math.max(leastPatience, 2 * question.settings.commandTimeout)
  const connections = new Connections(library.Redis, options, patience)
  try {
    return await examine(question, connections, addresses, options.db ?? 0)
  } finally {
    connections.close()
  }
}
