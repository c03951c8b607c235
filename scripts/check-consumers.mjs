/**
 * Type-checks the projects in test/types, which use the packed package as their users do: one in each module system, one
 * with each kind of decorators, one without `strict`, and one with the frameworks. `npm run check:package` asks how older
 * compilers find them.
 */
import { join } from 'node:path'
import { checkout, command } from '../tools/command.mjs'
import { unpackInto } from '../tools/pack.mjs'

const consumers = join(checkout, 'test/types')
await unpackInto(consumers)
for (const project of ['esm', 'cjs', 'wrapped', 'wrapped/legacy.json', 'loose', 'frameworks']) {
  await command('tsc', ['-p', join(consumers, project)])
}
