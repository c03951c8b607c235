/**
 * `npm run embed`: writes the scripts in src/redis/lua into src/redis/scripts.ts, because a file that is read at run
 * time is not there in a bundle. In the place of a line `-- include shared/<file>` it puts that file. With `--check` it writes nothing, and fails if src/redis/scripts.ts is not what it
 * would write.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkout } from '../tools/command.mjs'

const folder = join(checkout, 'src/redis/lua')
const target = join(checkout, 'src/redis/scripts.ts')
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })

const files = (await readdir(folder)).filter((file) => file.endsWith('.lua')).toSorted()
const text = [heading(), ...(await Promise.all(files.map(embedded)))].join('\n')

if (!values.check) {
  await writeFile(target, text)
} else if (text !== (await readFile(target, 'utf8').catch(() => undefined))) {
  process.stderr.write(
    'src/redis/scripts.ts is not what src/redis/lua says: run `npm run embed` and commit the result\n',
  )
  process.exitCode = 1
}

function heading() {
  return `// Written by scripts/embed-lua.mjs from src/redis/lua: change the scripts there, then run \`npm run embed\`.

/** A script, and the SHA-1 of its text: the name under which Redis runs it once it has been loaded. */
export interface Script {
  readonly name: string
  readonly lua: string
  readonly sha1: string
}
`
}

/** @param {string} file */
async function embedded(file) {
  const name = basename(file, '.lua')
  const lua = withoutComments(await complete(file), file)
  const sha1 = createHash('sha1').update(lua).digest('hex')
  return `export const ${camelCase(name)}: Script = {
  name: '${name}',
  sha1: '${sha1}',
  lua: \`${lua.replaceAll(/[\\`]|\$\{/g, '\\$&')}\`,
}
`
}

/**
 * The text of a file with that of the files that it includes.
 * @param {string} file
 * @returns {Promise<string>}
 */
async function complete(file) {
  const parts = (await readFile(join(folder, file), 'utf8')).split(/^-- include (\S+)\n/m)
  return (await Promise.all(parts.map(async (part, index) => (index % 2 === 0 ? part : await complete(part))))).join('')
}

/**
 * Drops the lines that are only a comment, or nothing. A line inside a long string or a long comment may look like one
 * of these, so neither of the two may be used.
 * @param {string} lua
 * @param {string} file
 */
function withoutComments(lua, file) {
  if (/\[=*\[/.test(lua)) throw new Error(`${file}: expected no long strings and no long comments ([[...]])`)
  const lines = lua.split('\n').filter((line) => !/^\s*(--.*)?$/.test(line))
  return lines.map((line) => `${line}\n`).join('')
}

/** @param {string} name such as drop-tags */
function camelCase(name) {
  return name.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase())
}
