/**
 * Type-checks the projects in test/types, which use the packed package as their users do: one in each module system, and
 * one with each kind of decorators.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout, command } from '../tools/command.mjs'
import { pack } from '../tools/pack.mjs'

const consumers = join(checkout, 'test/types')
const installed = join(consumers, 'node_modules/herdless')
const folder = await mkdtemp(join(tmpdir(), 'herdless-'))
try {
  const tarball = await pack(folder)
  await rm(installed, { recursive: true, force: true })
  await mkdir(installed, { recursive: true })
  await command('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  await command('tsc', ['-p', join(consumers, 'esm')])
  await command('tsc', ['-p', join(consumers, 'cjs')])
  await command('tsc', ['-p', join(consumers, 'wrapped')])
  await command('tsc', ['-p', join(consumers, 'wrapped/legacy.json')])
} finally {
  await rm(folder, { recursive: true, force: true })
}
