/**
 * Which majors of frameworks and clients the tests of this run are about: those of the checkout, or the oldest that are supported, where a
 * project of vitest.config.ts says so.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { checkout } from '../../tools/command.mjs'

/** Whether they are the oldest. */
export const isOlder = process.env['MAJORS'] === 'older'

const older = join(checkout, 'test/older')

/** The folder in whose node_modules they are. */
export const majorsFolder = isOlder ? older : checkout

/** Requires them, for a process that vitest does not read. @type {NodeJS.Require} */
export const requireMajor = createRequire(join(majorsFolder, 'package.json'))

/** Requires the oldest ones beside those of the checkout. @type {NodeJS.Require} */
export const requireOlder = createRequire(join(older, 'package.json'))
