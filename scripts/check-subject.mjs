/**
 * Checks the subject of a commit: "area: what it does", in at most 72 characters. Git calls it as its hook `commit-msg`.
 *
 * node scripts/check-subject.mjs <file of the message>
 */
import { readFile } from 'node:fs/promises'
import { argv } from 'node:process'

const longest = 72
const message = await readFile(String(argv[2]), 'utf8')
const subject =
  message
    .split('\n')
    .find((line) => line.trim() !== '' && !line.startsWith('#'))
    ?.trim() ?? ''

const wrong = complaint()
if (wrong !== null) {
  process.stderr.write(
    `The subject of a commit is "area: what it does", in at most ${longest} characters; this one ${wrong}:\n${subject}\n`,
  )
  process.exitCode = 1
}

function complaint() {
  // Git has written it, or refuses it by itself, or melts it into another commit.
  if (subject === '' || /^(Merge|Revert|Reapply|fixup!|squash!|amend!) ?/.test(subject)) return null
  if (!/^[a-z][a-z0-9-]*: \S/.test(subject)) return 'has no area in front'
  if (subject.endsWith('.')) return 'ends with a full stop'
  return subject.length > longest ? `has ${subject.length}` : null
}
