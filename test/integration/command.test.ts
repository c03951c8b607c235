import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { herdless as program } from '../../src/cli/program.ts'
import { checkout } from '../../tools/command.mjs'
import { builtPackage } from '../support/fleet-build.ts'
import { herdless } from './command.ts'
import { herdlessIn } from './doctor.ts'

const names = program().commands.map((command) => command.name())

test.for(names)('herdless %s --help is answered with 0, and so is herdless help', async (name) => {
  const { code, out, err } = await herdless([name, '--help'])
  expect(out).toMatch(new RegExp(`^Usage: herdless ${name} `))
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(await herdless(['help', name])).toEqual({ code, out, err })
})

test('a URL in the environment is not repeated either', async () => {
  const { code, err } = await herdlessIn(await builtPackage(), ['leases'], { REDIS_URL: 'http://:geheim@host' })
  expect(err).toContain('herdless: Expected a URL such as redis://')
  expect(err).not.toContain('geheim')
  expect(code).toBe(2)
})

describe('the lab', () => {
  /** The compiled package as it lies in a clone or in an application, with these files beside it. */
  async function laidOut(files: Readonly<Record<string, string>>): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'herdless-lab-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await cp(await builtPackage(), join(folder, 'dist'), { recursive: true })
    await mkdir(join(folder, 'node_modules'))
    for (const name of ['commander', 'lru-cache']) {
      await symlink(join(checkout, 'node_modules', name), join(folder, 'node_modules', name))
    }
    await mkdir(join(folder, 'scripts'))
    for (const [name, text] of Object.entries({
      'package.json': '{ "name": "herdless", "version": "1.2.3" }',
      ...files,
    })) {
      await writeFile(join(folder, name), text)
    }
    return folder
  }

  test('is that of a clone, with its options and its exit code', async () => {
    const lab = `console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 3`
    const folder = await laidOut({ 'scripts/lab.mjs': lab })
    const { code, out, err } = await herdlessIn(join(folder, 'dist'), ['lab', '--headless', '--port', '80', 'x', '-j'])
    expect({ code, out, err }).toEqual({ code: 3, out: '["--headless","--port","80","x","-j"]\n', err: '' })
  })

  test('is not in the package, which says how to get it', async () => {
    const folder = await laidOut({})
    const { code, out, err } = await herdlessIn(join(folder, 'dist'), ['lab'])
    expect(err).toMatch(/^herdless: The lab is not in the package: run .*`npm run lab` in a clone.*\n$/)
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })
})
