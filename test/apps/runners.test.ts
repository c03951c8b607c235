import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { apps } from './given-package.ts'

interface Results {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly { readonly assertionResults: readonly { status: string; fullName: string }[] }[]
}

/** Runs a program of a package in a folder of the apps, without what vitest has told this process; its output. */
async function run(program: string, folder: string, args: readonly string[] = []): Promise<string> {
  const { PATH = '' } = process.env
  const options = { cwd: join(apps, folder), env: { PATH, REDIS_URL: inject('redisUrl') }, timeout: 60_000 }
  try {
    return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} in ${folder} has failed:\n${stdout}\n${stderr}`, { cause: error })
  }
}

/** The tests that have passed, of a runner that reports as Jest does; none may have failed. */
function passed(output: string): string[] {
  const { numFailedTests, testResults } = JSON.parse(output) as Results
  expect(numFailedTests).toBe(0)
  const all = testResults.flatMap(({ assertionResults }) => assertionResults)
  return all.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName)
}

const jest = join(apps, 'node_modules/jest/bin/jest.js')
const vitest = join(checkout, 'node_modules/vitest/vitest.mjs')

// Otherwise its cache stays in the temporary folder.
const forJest = ['--json', `--cacheDirectory=${join(apps, 'node_modules/.cache/jest')}`]

test('the suite of the app on Express 4 passes under Jest', async () => {
  expect(passed(await run(jest, 'express4', forJest))).toHaveLength(8)
})

test('with the fake timers of Jest, modern and legacy, calls settle, whenever the library is required', async () => {
  expect(passed(await run(jest, 'timers', forJest))).toHaveLength(14)
})

test('with the fake timers of Vitest, calls settle', async () => {
  expect(passed(await run(vitest, 'timers', ['run', '--reporter=json']))).toHaveLength(3)
})

test('with the fake timers of Sinon, calls settle', async () => {
  expect((await run('timers.sinon.js', 'timers')).match(/^passed: /gm)).toHaveLength(3)
})
