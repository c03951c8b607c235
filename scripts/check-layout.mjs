/**
 * The rules for the layout of src that the linter has no rules for; part of `npm run lint`. Says each breach, with the
 * file, and ends with 1 if there is one.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The fewest lines of code of a file. What only exports (index.ts) has as many as it needs. */
const fewestLines = 15

/** Shorter files, each with its reason. */
const short = new Map([
  ['src/create-cache.ts', 'chooses the store of a cache without one, which no room of core may know'],
  ['src/core/contract/mode.ts', 'is shared by the contract of stores, the guard, the options and the command'],
  ['src/http/exchange/late-load.ts', 'is used by a refresh, by a variant and by the cache as a whole'],
  ['src/http/policy/message.ts', 'the messages that all rules of RFC 9111 are about'],
  ['src/codecs/returned.ts', 'is shared by the codecs, which do not import each other'],
  ['src/redis/clients/track.ts', 'is shared by the adapters, which do not import each other'],
  ['src/cli/main.ts', 'is the program that npm installs; everything else can be imported without running it'],
])

const checkout = join(dirname(fileURLToPath(import.meta.url)), '..')
const entries = await readdir(join(checkout, 'src'), { recursive: true })
const files = entries.filter((file) => file.endsWith('.ts')).map((file) => join('src', file))
const texts = new Map(await Promise.all(files.map(async (file) => /** @type {const} */ ([file, await read(file)]))))

const breaches = [...duplicates(), ...tiny(), ...directlyInCore()]
for (const breach of breaches) console.error(breach)
process.exitCode = breaches.length === 0 ? 0 : 1

/** @param {string} file */
async function read(file) {
  return await readFile(join(checkout, file), 'utf8')
}

function duplicates() {
  const declared = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:declare |abstract )*(?:interface|type|class|enum) (\w+)/gm)].map(([, name]) => ({
      name,
      file,
    })),
  )
  return [...grouped(declared, ({ name }) => name)]
    .map(([name, each]) => ({ name, in: [...new Set(each.map(({ file }) => file))] }))
    .filter((each) => each.in.length > 1)
    .map((each) => `${each.name} is exported as a type by ${each.in.join(' and ')}`)
}

function tiny() {
  const isTiny = (/** @type {string} */ file) => linesOfCode(texts.get(file) ?? '') < fewestLines
  const found = files.filter((file) => basename(file) !== 'index.ts' && isTiny(file) && !short.has(file))
  const needless = [...short.keys()].filter((file) => !files.includes(file) || !isTiny(file))
  return [
    ...found.map(
      (file) => `${file} has fewer than ${fewestLines} lines of code, and no reason in scripts/check-layout.mjs`,
    ),
    ...needless.map((file) => `${file} needs no reason in scripts/check-layout.mjs`),
  ]
}

function directlyInCore() {
  const found = files.filter((file) => dirname(file) === 'src/core' && basename(file) !== 'errors.ts')
  return found.map((file) => `${file} belongs in a room: only errors.ts stands directly in src/core`)
}

/** Lines that are neither blank nor comments. @param {string} text */
function linesOfCode(text) {
  return text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*|$)/.test(line)).length
}

/**
 * `Map.groupBy`, which Node.js 20 does not have.
 * @template Item, Key
 * @param {readonly Item[]} items @param {(item: Item) => Key} keyOf
 * @returns {Map<Key, Item[]>}
 */
function grouped(items, keyOf) {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
