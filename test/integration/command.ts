/** The command `herdless` as the source has it, in this process: a process of its own takes a second to begin with. */
import { vi } from 'vitest'
import { complaint } from '../../src/cli/ending.ts'
import { herdless as programOf } from '../../src/cli/program.ts'
import { clientLibrary } from '../support/node-redis.ts'
import { herdless as herdlessApart, type Ended } from './doctor.ts'

/**
 * Runs `herdless` with these arguments, in an environment that names no Redis unless `env` does. It finds ioredis here; so
 * a run that is about node-redis has a process, beside that library alone.
 */
export async function herdless(
  args: readonly string[],
  env: { readonly REDIS_URL?: string } = {},
): Promise<Omit<Ended, 'took'>> {
  if (clientLibrary === 'node-redis') return await herdlessApart(args, env)
  const said = { out: '', err: '' }
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((text: string) => void (said.out += `${text}\n`)),
    vi.spyOn(console, 'error').mockImplementation((text: string) => void (said.err += `${text}\n`)),
    // The help.
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((said.out += String(text)))),
  ]
  vi.stubEnv('REDIS_URL', env.REDIS_URL)
  const before = process.exitCode
  const program = programOf()
  try {
    await program.parseAsync(args, { from: 'user' })
    return { code: Number(process.exitCode ?? 0), ...said }
  } catch (thrown) {
    const told = complaint(thrown, program, [...args, env.REDIS_URL ?? ''])
    return told === null ? { code: 0, ...said } : { code: 2, out: said.out, err: `${said.err}${told}\n` }
  } finally {
    process.exitCode = before
    vi.unstubAllEnvs()
    for (const spy of spies) spy.mockRestore()
  }
}
