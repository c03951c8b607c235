import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { checkout, command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import giveRedis from '../support/given-redis.ts'

/** The folder of the apps. */
export const apps: string = join(checkout, 'test/apps')

/** Gives the packed package to the apps, compiles those in TypeScript, and gives a Redis to the tests. */
export default async function givePackage(project: TestProject): Promise<() => Promise<void>> {
  await unpackInto(apps)
  for (const app of ['express5', 'nest11']) await command('tsc', ['-p', join(apps, app)])
  return await giveRedis(project)
}
