/**
 * `npm run build`: compiles src, and bundles it into dist, once for each module system. The core is one chunk; other parts that
 * several exports share are further chunks: Node.js imports few files in a fraction of the time of many. The types stay file by
 * file, without those that no export leads to. A copy of the modules is kept for the processes of tests. `npm run types` checks
 * the types.
 *
 * node scripts/build.mjs [--out <folder>]
 */
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { checkout, command } from '../tools/command.mjs'
import { builtFolder } from '../tools/built-package.mjs'

const { values: options } = parseArgs({ options: { out: { type: 'string', default: join(checkout, 'dist') } } })
const dist = resolve(options.out)
// In this folder, because the copies of a checkout may share node_modules.
const compiled = join(dist, '.compiled')
const { exports, bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
const modules = Object.values(exports).flatMap(({ import: file }) => file ?? [])

const built = await builtFolder()
await rm(dist, { recursive: true, force: true })
await command('tsc', ['-p', 'tsconfig.build.json', '--outDir', compiled, '--declarationDir', join(dist, 'esm')])
await Promise.all([bundle('esm', [...modules, ...Object.values(bin)]), bundle('cjs', modules)])
await rm(compiled, { recursive: true })
await writeFile(join(dist, 'esm/package.json'), '{ "type": "module" }\n')
await writeFile(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')
await keep()
await placeDeclarations()

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
  await bundled.write({
    dir: join(dist, format),
    format,
    chunkFileNames: 'chunks/[name].js',
    // Each export uses most of it.
    codeSplitting: { groups: [{ name: 'core', test: /[\\/]\.compiled[\\/](core|memory)[\\/]/ }] },
  })
  await bundled.close()
}

/** Copies the modules to where the processes of tests look for them, unless they are there. */
async function keep() {
  const half = `${built}-${process.pid}`
  await cp(join(dist, 'esm'), half, { recursive: true, filter: (path) => !path.endsWith('.d.ts') })
  // Refused where it is there already.
  await rename(half, built).catch(() => rm(half, { recursive: true }))
}

/** Removes the declarations to which no export leads, and copies the others: they are the same for both module systems. */
async function placeDeclarations() {
  const [esm, cjs] = [join(dist, 'esm'), join(dist, 'cjs')]
  const reached = new Set()
  /** @param {string} file */
  const visit = async (file) => {
    if (reached.has(file)) return
    reached.add(file)
    const text = await readFile(file, 'utf8')
    const imported = text.matchAll(/(?:from|import|import\() ?['"](\.[^'"]+)\.[jt]s['"]/g)
    await Promise.all([...imported].map(([, path = '']) => visit(join(dirname(file), `${path}.d.ts`))))
  }
  await Promise.all(modules.map((file) => visit(join(checkout, file.replace('.js', '.d.ts')))))
  const all = (await readdir(esm, { recursive: true })).filter((file) => file.endsWith('.d.ts'))
  await Promise.all(
    all.map((file) => (reached.has(join(esm, file)) ? cp(join(esm, file), join(cjs, file)) : rm(join(esm, file)))),
  )
}
