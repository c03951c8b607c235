/**
 * Shows how the English pages have changed since their Chinese translations were last compared with them:
 * `npx tsx test/docs/review-chinese.ts`. With `--accept`, for when the translations say the same again, it also writes the
 * present revision of each English page into its translation.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkout } from '../../tools/command.mjs'
import { doc, parsed } from './markdown.ts'
import { marker, markers, pairs, type Pair } from './translations.ts'

const { values } = parseArgs({ options: { accept: { type: 'boolean', default: false } } })
for (const pair of pairs()) review(pair)

function review({ original, translation }: Pair): void {
  const { text } = doc(translation)
  const [now, compared = ''] = [marker(doc(original)), text.match(markers)?.[0]]
  if (compared === now) return
  console.log(`\n${translation} is a translation of an earlier ${original}`)
  console.log(changes(original, compared))
  if (!values.accept) return
  writeFileSync(join(checkout, translation), `${text.replaceAll(markers, '').trimEnd()}\n\n${now}\n`)
  console.log(`${translation} is accepted as a translation of ${original}`)
}

/** How a page differs from the last commit in which it had the revision that a marker names. */
function changes(path: string, compared: string): string {
  const commits = git('log', '--format=%H', '--', path).trim().split('\n')
  const commit = commits.find((each) => marker(parsed(path, git('show', `${each}:${path}`))) === compared)
  return commit === undefined
    ? 'No commit has the revision that was translated, so compare the whole pages'
    : git('diff', '--word-diff', commit, '--', path)
}

function git(...command: string[]): string {
  return execFileSync('git', command, { cwd: checkout, encoding: 'utf8' })
}
