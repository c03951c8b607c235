import { execFile, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkout } from '../../tools/command.mjs'
import type { Block } from './markdown.ts'
import { outcome, SharedProcess, timeout, type Outcome } from './shared-process.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const libraries = join(here, 'libraries')

/** What a block needs that a machine may lack. */
export type Needed = 'PostgreSQL' | 'ZooKeeper'

interface Setting {
  readonly before?: string
  readonly after?: string
  readonly reports?: boolean
  readonly runner?: 'vitest' | 'jest'
  readonly needs?: Needed
  readonly serves?: boolean
}

/** What surrounds the blocks that are marked `in=<name>`: code that their readers need not see. */
const settings: Record<string, Setting> = {
  blank: {},
  cache: {
    before: `import { cache, cacheOfAnotherProcess, db, fetchPrice, redis } from '../../../settings/cache.mjs'`,
  },
  app: {
    before: `import { app, ask, cache, cacheResponses, render, update } from '../../../settings/app.mjs'`,
  },
  lock: {
    before: `import { lock, lockOfAnotherProcess, redis, sendReminders } from '../../../settings/lock.mjs'`,
  },
  redis: { before: `import { redis, sendReminders } from '../../../settings/lock.mjs'` },
  postgres: { needs: 'PostgreSQL' },
  zookeeper: { needs: 'ZooKeeper' },
  orders: { before: `import { db, lock } from '../../../settings/orders.mjs'` },
  product: {
    before: `import { cache, loadProduct, lock, pool, readElsewhere, transaction } from '../../../settings/product.mjs'`,
    needs: 'PostgreSQL',
  },
  shop: {
    before: `import { check, query } from '../../../settings/shop.mjs'`,
    after: 'await check(bestSellers)',
  },
  web: { before: `import { app, ask, cache } from '../../../settings/app.mjs'` },
  // Programs that listen on PORT until they are told to end: serve.ts asks them.
  server: { serves: true },
  // Tests, which run when the module has been read, and report as they like.
  tests: { reports: true },
  vitest: { reports: true, runner: 'vitest' },
  jest: { reports: true, runner: 'jest' },
}

function settingOf({ info }: Block): (typeof settings)[string] {
  return settings[info.replace(/^in=/, '')] ?? {}
}

const scripts = new Set(['js', 'ts', 'javascript', 'typescript', 'mjs', 'cjs', 'mts', 'cts', 'jsx', 'tsx'])

/** Whether a block holds code of ours, which has to be run. */
export function isScript({ language, info }: Block): boolean {
  return scripts.has(language) || (language === 'diff' && info !== '')
}

/** The code that is run: of a change, what there is after it. */
function after({ language, code }: Block): string {
  if (language !== 'diff') return code
  const lines = code.split('\n').filter((line) => !line.startsWith('-'))
  return lines.map((line) => line.slice(1)).join('\n')
}

/** The language of that. */
function languageOf({ language }: Block): string {
  return language === 'diff' ? 'ts' : language
}

/** What of that this block needs. */
export function needs(block: Block): Needed | undefined {
  return settingOf(block).needs
}

/** Whether it is a program that answers requests until it is told to end. */
export function serves(block: Block): boolean {
  return settingOf(block).serves ?? false
}

/** Why a block cannot be run, if so. */
export function flaw({ language, info }: Block): string | null {
  if (language !== 'js' && language !== 'ts' && language !== 'diff')
    return `its language is to be js or ts, not ${language}`
  if (!(info.replace(/^in=/, '') in settings))
    return `behind its language is to be in=${Object.keys(settings).join(' or in=')}, not '${info}'`
  return null
}

/** The output that a block promises, by the comments behind its arrows; an ellipsis stands for anything. */
export function promised(block: Block): RegExp[] | null {
  if (settingOf(block).reports) return null
  const lines = [...after(block).matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1] as string)
  return lines.map((line) => new RegExp(`^${line.split('…').map(escaped).join('.*')}$`))
}

function programOf(block: Block, module: string): string[] {
  const { reports, runner } = settingOf(block)
  if (runner === undefined) return reports ? [module] : [join(here, 'run-block.mjs'), module]
  if (runner === 'jest') {
    const folder = dirname(module)
    const options = [`--rootDir=${folder}`, `--testRegex=/${basename(module)}$`, `--cacheDirectory=${folder}/jest`]
    return [installed('jest', 'bin/jest.js'), ...options]
  }
  return [
    installed('vitest', 'vitest.mjs'),
    'run',
    '--config',
    join(here, 'run-vitest.mjs'),
    '--root',
    dirname(module),
    module,
  ]
}

/** Modules whose import and use change no state of the process. */
const harmless = new RegExp(
  `^(?:${[
    'herdless(?:/.*)?|node:(?:crypto|events|fs|http|timers/promises|zlib)',
    'ioredis|redis|pg|knex|drizzle-orm(?:/.*)?|node-zookeeper-client|express|fastify|koa',
    'arktype|bloomfilter|dataloader|msgpackr|valibot|zod',
  ].join('|')})$`,
)

/** Whether a block can run in a process with other blocks. */
function isShared(block: Block): boolean {
  const { reports } = settingOf(block)
  const imports = after(block).matchAll(/^import\b[^']*'([^']*)'|\b(?:import|require)\('([^']*)'\)/gm)
  return !reports && [...imports].every(([, named = '', called = '']) => harmless.test(named || called))
}

/** That of this process without the one that tells a worker of Vitest that it is one. */
function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'))
  return { ...Object.fromEntries(own), ...env }
}

/** What stands before `js` or `ts` in the name of its file: the modules of Jest are CommonJS. */
function kind(block: Block): string {
  return settingOf(block).runner === 'jest' ? 'c' : ''
}

function installed(name: string, program: string): string {
  return createRequire(join(libraries, 'package.json')).resolve(`${name}/package.json`).replace('package.json', program)
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Blocks as modules that can be run; those in TypeScript have been checked and compiled. */
export class BlockModules {
  readonly #folder: string
  readonly #blocks: readonly Block[]
  readonly #shared = new SharedProcess()

  private constructor(folder: string, blocks: readonly Block[]) {
    this.#folder = folder
    this.#blocks = blocks
  }

  /** Beside the libraries that they import. */
  static async make(blocks: readonly Block[]): Promise<BlockModules> {
    const folder = await mkdtemp(join(libraries, '.run-'))
    await mkdir(join(folder, 'src'))
    // A folder with a package.json of its own does not know the package around it by its name.
    await mkdir(join(folder, 'node_modules'))
    await symlink(checkout, join(folder, 'node_modules/herdless'), 'junction')
    for (const [index, block] of blocks.entries()) {
      const setting = settingOf(block)
      const name = `${index}.${kind(block)}${languageOf(block)}`
      const lines = [setting.before ?? '', after(block), setting.after ?? '', '']
      await writeFile(join(folder, 'src', name), lines.join('\n'))
    }
    const compilerOptions = {
      module: 'nodenext',
      allowJs: true,
      rootDir: '../..',
      outDir: 'out',
      declaration: false,
      isolatedDeclarations: false,
      noUnusedLocals: false,
      // Whoever reads the pages may have set less than we do.
      noPropertyAccessFromIndexSignature: false,
      exactOptionalPropertyTypes: false,
    }
    // The last is for the process that blocks share, whatever their settings import.
    const include = ['src', '../../settings/at-end.mjs']
    const tsconfig = { extends: '../../../../tsconfig.base.json', compilerOptions, include }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
    return new BlockModules(folder, blocks)
  }

  /** @throws Error with what the compiler says, by the places of the blocks */
  async compile(): Promise<void> {
    const tsc = [installed('typescript', 'bin/tsc'), '-p', this.#folder]
    const { code, output } = await outcome(execFile(process.execPath, tsc))
    if (code === 0) return
    throw new Error(
      output.replaceAll(/^\S*?src\/(\d+)\.c?[jt]s/gm, (_, index) => this.#blocks[Number(index)]?.place ?? ''),
    )
  }

  /** Runs a block, in a process of its own if it could change what others find there. */
  async run(block: Block, env: Record<string, string>): Promise<Outcome> {
    const module = this.#moduleOf(block)
    if (isShared(block)) return this.#shared.run(module, environment(env))
    return outcome(execFile(process.execPath, programOf(block, module), { env: environment(env), timeout }))
  }

  /** Starts a block that serves. */
  start(block: Block, env: Record<string, string>): ChildProcess {
    return execFile(process.execPath, [this.#moduleOf(block)], { env: environment(env), timeout })
  }

  #moduleOf(block: Block): string {
    const name = `${this.#blocks.indexOf(block)}.${kind(block)}js`
    return join(this.#folder, 'out/libraries', basename(this.#folder), 'src', name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shared.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}
