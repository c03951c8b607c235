/**
 * `npm run build`: compiles src, and bundles it into dist, once for each module system, with the parts that several
 * exports share in chunks of their own: few files are imported in half the time of many. The types stay file by file.
 */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { checkout, command } from '../tools/command.mjs'

const dist = join(checkout, 'dist')
const compiled = join(checkout, 'node_modules/.cache/herdless/compiled')
const { exports, bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
const modules = Object.values(exports).flatMap(({ import: file }) => file ?? [])

await Promise.all([dist, compiled].map((folder) => rm(folder, { recursive: true, force: true })))
await Promise.all([command('tsc', ['-p', 'tsconfig.build.json']), command('tsc', ['-p', 'tsconfig.build.cjs.json'])])
await Promise.all([bundle('esm', [...modules, ...Object.values(bin)]), bundle('cjs', modules)])
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
