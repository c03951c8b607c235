/**
 * Runs the modules that its parent names, one after the other, each on settings of its own. The answer for each is its
 * output and its exit code. What a module leaves open stays open, and what it prints after its end is nobody's.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { register } from 'node:module'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

register('./own-settings.mjs', import.meta.url)

/** Of Node.js itself: a response cache takes what its handlers read of other stores for an input. */
const getStore = /** @type {() => unknown} */ (Reflect.get(AsyncLocalStorage.prototype, 'getStore'))
/** The output of the module whose code runs, or has started what runs. */
const outputs = /** @type {AsyncLocalStorage<{ text: string }>} */ (new AsyncLocalStorage())
let last = { text: '' }
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (/** @type {string | Uint8Array} */ text) =>
    Boolean((/** @type {{ text: string }} */ (getStore.call(outputs) ?? last).text += text))
}
// No answer is sent for a module that ends this process; its parent reads the output from the pipe.
process.on('exit', () => writeSync(1, last.text))

process.on('message', async (/** @type {string} */ path) => {
  const output = (last = { text: '' })
  const [module, own] = [pathToFileURL(path), `?${basename(path)}`]
  const code = await outputs.run(output, () => run(module.href + own))
  const { release } = await import(new URL('../../../settings/at-end.mjs', module).href + own)
  await release()
  process.send?.({ code, output: output.text })
})

/** @param {string} module */
async function run(module) {
  try {
    await import(module)
    return 0
  } catch (error) {
    console.error(inspect(error))
    return 1
  }
}
