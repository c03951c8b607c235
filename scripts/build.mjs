/**
 * `npm run build`: compiles src, and bundles it into dist, once for each module system, with the parts that several
 * exports share in chunks of their own: few files are imported in half the time of many. The types stay file by file, but
 * those that no export leads to are left out. The compiled files are kept for the processes of tests. `npm run types` checks
 * the types.
 */
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { checkout, command } from '../tools/command.mjs'
import { compiledFolder } from '../tools/compiled-package.mjs'

const dist = join(checkout, 'dist')
// In this folder, because the copies of a checkout may share node_modules.
const compiled = join(dist, '.compiled')
const { exports, bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
const modules = Object.values(exports).flatMap(({ import: file }) => file ?? [])

const kept = await compiledFolder()
await rm(dist, { recursive: true, force: true })
await command('tsc', ['-p', 'tsconfig.build.json'])
await Promise.all([bundle('esm', [...modules, ...Object.values(bin)]), bundle('cjs', modules)])
await keepCompiled()
await placeDeclarations()
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

/** Moves the compiled files to where tests look for them, unless they are there. */
async function keepCompiled() {
  await writeFile(join(compiled, 'package.json'), '{ "type": "module" }\n')
  const half = `${kept}-${process.pid}`
  // `dist` may lie on another file system.
  await cp(compiled, half, { recursive: true })
  // Refused where it is there already.
  await rename(half, kept).catch(() => rm(half, { recursive: true }))
  await rm(compiled, { recursive: true })
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
