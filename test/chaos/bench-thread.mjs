/** The thread of bench.ts. */
import { parentPort } from 'node:worker_threads'
import { tsImport } from 'tsx/esm/api'

// A thread does not inherit from its parent that it can read TypeScript.
const { Segments } = /** @type {typeof import('./segments.ts')} */ (await tsImport('./segments.ts', import.meta.url))
const segments = new Segments()

parentPort?.on('message', (/** @type {import('./bench.ts').ToBench} */ told) => {
  if ('happened' in told) segments.add(told.happened)
  else parentPort?.postMessage(segments.judge(told.upTo, told.allowed))
})
