/** `npm run build`: compiles src into dist, once for each module system, and tells Node which is which. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout, command } from '../tools/command.mjs'

const dist = join(checkout, 'dist')
await rm(dist, { recursive: true, force: true })
await Promise.all([command('tsc', ['-p', 'tsconfig.build.json']), command('tsc', ['-p', 'tsconfig.build.cjs.json'])])
await writeFile(join(dist, 'esm/package.json'), '{ "type": "module" }\n')
await writeFile(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')
