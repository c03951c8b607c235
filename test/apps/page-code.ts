import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from '../../tools/command.mjs'

/** The code after the change that `docs/fetch.md` shows for a framework. */
export async function codeOfPage(framework: string): Promise<string> {
  const page = await readFile(join(checkout, 'docs/fetch.md'), 'utf8')
  const [, section = ''] = page.split(`\n**${framework}**`)
  const [, lines = ''] = /```diff\n([^]*?)```/.exec(section) ?? []
  return lines.replaceAll(/^./gm, '')
}
