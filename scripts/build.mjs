/**
 * `npm run build`: compiles src, and bundles it into dist, once for each module system, with the parts that several
 * exports share in chunks of their own: few files are imported in half the time of many. The types stay file by file, but
 * those that no export leads to are left out.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { checkout, command } from '../tools/command.mjs'

const dist = join(checkout, 'dist')
// In this folder, because the copies of a checkout may share node_modules.
const compiled = join(dist, '.compiled')
const { exports, bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
const modules = Object.values(exports).flatMap(({ import: file }) => file ?? [])

await rm(dist, { recursive: true, force: true })
await Promise.all([command('tsc', ['-p', 'tsconfig.build.json']), command('tsc', ['-p', 'tsconfig.build.cjs.json'])])
await Promise.all([bundle('esm', [...modules, ...Object.values(bin)]), bundle('cjs', modules)])
await Promise.all([rm(compiled, { recursive: true }), prune('esm'), prune('cjs')])
await writeFile(join(dist, 'esm/package.json'), '{ "type": "module" }\n')
await writeFile(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')

/**
 * @param {'esm' | 'cjs'} format
 * @param {string[]} files of dist/esm, each the entry of the same name in src
 */
async function bundle(format, files) {
  const names = files.map((file) => /dist\/esm\/(.+)\.js$/.exec(file)?.[1] ?? '')
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.js`)])),
    platform: 'node',
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
  })
  await bundled.write({ dir: join(dist, format), format, chunkFileNames: 'chunks/[name].js' })
  await bundled.close()
}

/**
 * Removes the declarations to which no export leads.
 * @param {'esm' | 'cjs'} format
 */
async function prune(format) {
  const reached = new Set()
  /** @param {string} file */
  const visit = async (file) => {
    if (reached.has(file)) return
    reached.add(file)
    const text = await readFile(file, 'utf8')
    const imported = text.matchAll(/(?:from|import|import\() ?['"](\.[^'"]+)\.[jt]s['"]/g)
    await Promise.all([...imported].map(([, path = '']) => visit(join(dirname(file), `${path}.d.ts`))))
  }
  await Promise.all(
    modules.map((file) => visit(join(checkout, file.replace('/esm/', `/${format}/`).replace('.js', '.d.ts')))),
  )
  const folder = join(dist, format)
  const all = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.d.ts'))
  await Promise.all(
    all
      .map((file) => join(folder, file))
      .filter((file) => !reached.has(file))
      .map((file) => rm(file)),
  )
}
