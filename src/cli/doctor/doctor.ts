import type { Redis, RedisOptions } from 'ioredis'
import { packageFolder, version } from '../package.ts'
import { UsageError } from '../usage-error.ts'
import { Connections, Unreachable, type Address } from './connection.ts'
import { examine } from './examination.ts'
import { help, questionIn, type Question } from './options.ts'
import { asJson, asText, counted, failureAsJson, type Found } from './report.ts'

/** The least time that a server is given to answer a command, in milliseconds. */
const leastPatience = 3_000

/** The command `herdless doctor`; resolves with 0 without a problem, 1 with one, 2 if nothing could be examined. */
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
  const Client = await ioredis()
  // Read as the application reads it; no connection is made.
  const read = question.urls.map((url) => new Client(url, { lazyConnect: true }).options)
  const [{ username, password, db, tls, family } = {}] = read
  const secure = tls === undefined ? null : question.ca === null ? tls : { ...tls, ca: question.ca }
  const options: RedisOptions = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(family === undefined ? {} : { family }),
    ...(secure === null ? {} : { tls: secure }),
    db: db ?? 0,
  }
  const patience = Math.max(leastPatience, 2 * question.settings.commandTimeout)
  const connections = new Connections(Client, options, patience)
  try {
    return await examine(question, connections, read.map(addressIn), db ?? 0)
  } finally {
    connections.close()
  }
}

function addressIn({ path, host = '127.0.0.1', port = 6379 }: RedisOptions): Address {
  return path === undefined ? { host, port } : { path }
}

async function ioredis(): Promise<typeof Redis> {
  try {
    return (await import('ioredis')).Redis
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const outside = 'outside a project, `npx --package herdless --package ioredis herdless doctor`'
    throw new UsageError(`The doctor needs ioredis 5 or 6: \`npm install ioredis\`, or, ${outside}`, { cause: error })
  }
}
