import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'

const hooks = join(checkout, 'scripts/hooks')
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herdless-commits-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs a command in the folder, without the settings of whoever runs the tests. */
function run(command: string, ...args: string[]): { code: number | null; printed: string } {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_DIR: undefined }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env })
  return { code: status, printed: stdout + stderr }
}

function commit(message: string): { code: number | null; printed: string } {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', `core.hooksPath=${hooks}`]
  return run('git', ...who, 'commit', '--quiet', '--allow-empty', '-m', message)
}

describe('a commit', () => {
  beforeEach(() => void run('git', 'init', '--quiet'))

  test.for([
    'redis: a lost lease cannot fill',
    'key-value: what it does\n\nWhy it does that, in a line that may be as long as it has to be, because only the first one is a subject.',
    `flight: ${'x'.repeat(64)}`,
    'fixup! redis: a lost lease cannot fill',
    "Merge branch 'near'",
  ])('may be called %o', (message) => {
    expect(commit(message)).toEqual({ code: 0, printed: '' })
  })

  test.for([
    ['A lost lease cannot fill', 'has no area in front'],
    ['Redis: a lost lease cannot fill', 'has no area in front'],
    ['redis:', 'has no area in front'],
    ['redis: a lost lease cannot fill.', 'ends with a full stop'],
    [`flight: ${'x'.repeat(65)}`, 'has 73'],
  ] as const)('is not called %o: it %s', ([message, reason]) => {
    const { code, printed } = commit(message)
    expect([code, printed]).toEqual([1, expect.stringContaining(`in at most 72 characters; this one ${reason}`)])
    expect(run('git', 'log').code).not.toBe(0)
  })
})

describe('the hooks of git', () => {
  const setHooks = (): ReturnType<typeof run> => run(process.execPath, join(checkout, 'scripts/set-hooks.mjs'))
  const path = (): string => run('git', 'config', '--get', 'core.hooksPath').printed.trim()

  test('are those of the project once npm has installed what a clone needs', () => {
    run('git', 'init', '--quiet')
    expect([setHooks(), setHooks(), path()]).toEqual([
      { code: 0, printed: '' },
      { code: 0, printed: '' },
      'scripts/hooks',
    ])
  })

  test('stay where a developer has them', () => {
    run('git', 'init', '--quiet')
    run('git', 'config', 'core.hooksPath', 'my/hooks')
    expect(setHooks()).toMatchObject({ code: 0, printed: expect.stringContaining('my/hooks') })
    expect(path()).toBe('my/hooks')
  })

  test('are nobody’s matter where the folder is no clone', () => {
    expect(setHooks()).toEqual({ code: 0, printed: '' })
    expect(run('git', 'rev-parse').code).not.toBe(0)
  })
})
