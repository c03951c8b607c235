import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import type { RequestHandler } from 'express'
import { forwardingApp, listening, type MakeServer } from './forwarding-app.ts'
import { startOrigin } from './origin.ts'

/**
 * What became of a test. `yes` and `no` are the answers of a check, which nobody has to pass; `dependency failed` says
 * that a test without which it says nothing has failed, and `setup failed` that it did not get so far as to ask.
 */
export type Outcome =
  | 'passed'
  | 'failed'
  | 'yes'
  | 'no'
  | 'dependency failed'
  | 'setup failed'
  | 'retried'
  | 'harness failed'
  | 'untested'

export interface Result {
  readonly id: string
  /** The title of the part of the suite that it is in. */
  readonly suite: string
  /** What is tested, in words. */
  readonly name: string
  readonly kind: 'required' | 'optimal' | 'check'
  /** As the suite itself would show it. */
  readonly outcome: Outcome
  /** What went wrong, empty when nothing did. */
  readonly detail: string
}

/** All that the suite tests, by id. */
export type Results = ReadonlyMap<string, Result>

/** What the thread of the client is told. */
export interface Order {
  readonly url: string
  /** One test, to be dumped; all, when left out. */
  readonly only?: string
  readonly isTimed?: boolean
}

export interface RunOptions {
  /** Runs this test alone, whatever it depends on, and dumps its requests and responses. */
  readonly only?: string
  /** Whether those run, too, that pause for seconds, of which a busy machine loses some. Default: true. */
  readonly isTimed?: boolean
  /** Is given each line that client and origin print. */
  readonly heard?: (line: string) => void
  /** What the app stands behind, if anything. */
  readonly server?: MakeServer
}

/** What http-cache-tests says of an Express app with this middleware, in front of a proxy to the suite's origin. */
export async function conformanceOf(
  middleware: RequestHandler,
  { only, isTimed = true, heard = () => {}, server }: RunOptions = {},
): Promise<Results> {
  await using origin = await startOrigin(heard)
  await using app = await listening(forwardingApp(middleware, origin), server)
  const { url } = app
  const workerData: Order = only === undefined ? { url, isTimed } : { url, only }
  const thread = new Worker(new URL('client.mjs', import.meta.url), { workerData, stdout: true })
  const lines = createInterface({ input: thread.stdout }).on('line', heard)
  const printed = once(lines, 'close')
  const ended = once(thread, 'exit').then(() => Promise.reject(new Error("The suite's client ended without a word")))
  ended.catch(() => {})
  try {
    const [results] = (await Promise.race([once(thread, 'message'), ended])) as [Result[]]
    await printed
    return new Map(results.map((result) => [result.id, result]))
  } finally {
    await thread.terminate()
  }
}
