/**
 * `node scripts/check-release.mjs v1.2.3`: whether this checkout may be published under that tag. The workflow that
 * publishes runs it first.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from '../tools/command.mjs'
import { obstacles } from '../tools/release.mjs'

const [tag] = process.argv.slice(2)
if (tag === undefined) throw new TypeError('Expected the tag of the release, such as v1.2.3')
const [manifest, changelog] = await Promise.all(
  ['package.json', 'CHANGELOG.md'].map((file) => readFile(join(checkout, file), 'utf8')),
)
const found = obstacles({ manifest: JSON.parse(manifest ?? ''), changelog: changelog ?? '', tag })
for (const each of found) console.error(each)
console.log(found.length === 0 ? `${tag} may be published` : `${tag} is not to be published`)
process.exitCode = found.length === 0 ? 0 : 1
