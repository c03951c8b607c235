/** Files of the checkout that scripts write from other files. */
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { checkout } from './command.mjs'

/**
 * Writes a file; or, if the script was started with `--check`, fails unless the file has this text.
 * @param {string} file from the root of the checkout
 * @param {string} text
 */
export async function writeOrCheck(file, text) {
  const target = join(checkout, file)
  const [, script = '', ...options] = process.argv
  if (!options.includes('--check')) return await writeFile(target, text)
  if (text === (await readFile(target, 'utf8').catch(() => undefined))) return
  console.error(`${file} is out of date: run \`node scripts/${basename(script)}\` and commit the result`)
  process.exitCode = 1
}
