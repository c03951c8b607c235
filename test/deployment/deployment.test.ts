import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Cluster, Redis } from 'ioredis'
import type { IDeployment } from 'kubernetes-models/apps/v1'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { checkout } from '../../tools/command.mjs'
import { guardianOfThisProcess } from '../../tools/servers/guarded-process.mjs'
import { provisionBinary } from '../../tools/servers/provision-redis.mjs'

interface Service {
  readonly image: string
  readonly profiles: readonly string[]
  readonly command?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly configs?: readonly { source: string }[]
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly configs: Readonly<Record<string, { content: string }>>
}

const patient = { timeout: 30_000, interval: 100 }

describe('docker-compose.yml', () => {
  const compose = parse(readFileSync(join(checkout, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose
  const services = Object.entries(compose.services)

  test('has a profile for each way to run', () => {
    const profiles = new Set(services.flatMap(([, { profiles }]) => profiles))
    expect([...profiles]).toEqual(['redis', 'valkey', 'cluster', 'sentinel', 'redlock', 'observe', 'lab'])
  })

  test.for(services)('lets %s be reached from this machine only, with files that there are', ([, service]) => {
    expect(service.image).toMatch(/:[\w.-]+$/)
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
    const files = (service.volumes ?? []).map((volume) => volume.split(':')[0] as string)
    expect(files.filter((file) => !existsSync(join(checkout, file)))).toEqual([])
    for (const { source } of service.configs ?? []) {
      const { content } = compose.configs[source] as { content: string }
      expect(parse(content.replaceAll(/\$\{\w+:-(.*?)\}/g, '$1'))).toBeTypeOf('object')
    }
  })

  /** Runs the command of a service here, on other ports, until the test ends. */
  async function run(service: string, ports: Record<string, string>): Promise<AsyncDisposable> {
    const [shell, ...args] = compose.services[service]?.command ?? []
    const { binary, env } = await provisionBinary()
    const guardian = guardianOfThisProcess()
    const path = `${dirname(binary)}:${process.env['PATH']}`
    // What Compose writes as $$ is $ to the shell.
    const words = args.map((word) => word.replaceAll('$$', '$'))
    const folder = await guardian.newFolder()
    const running = await guardian.start(shell as string, words, {
      folder,
      env: { ...env, ...ports, PATH: path, TMPDIR: folder },
    })
    return { [Symbol.asyncDispose]: () => running.stop() }
  }

  test('makes a cluster that a cache can use', async () => {
    await using _running = await run('cluster', { FIRST_PORT: '9200' })
    const client = new Cluster([{ host: '127.0.0.1', port: 9205 }], { clusterRetryStrategy: () => 100 })
    client.on('error', () => {})
    await expect.poll(() => client.cluster('INFO').catch(String), patient).toContain('cluster_state:ok')
    const cache = createCache({ store: redisStore(client), commandTimeout: '10s' })
    await expect
      .poll(
        () =>
          cache
            .set('key', 'value')
            .then(() => cache.peek('key'))
            .catch(String),
        patient,
      )
      .toMatchObject({ value: 'value' })
    expect(client.nodes('master')).toHaveLength(3)
    await cache.close()
    client.disconnect()
  })

  test('makes sentinels that agree on a master', async () => {
    await using _running = await run('sentinel', { FIRST_PORT: '9210', MASTER_PORT: '9220' })
    const sentinels = [0, 1, 2].map((index) => ({ host: '127.0.0.1', port: 9210 + index }))
    const [first, last] = [new Redis(9210), new Redis(9212)]
    for (const sentinel of [first, last]) sentinel.on('error', () => {})
    await expect.poll(() => last.call('SENTINEL', 'CKQUORUM', 'main').catch(String), patient).toMatch(/^OK 3 /)
    const client = new Redis({ sentinels, name: 'main' })
    const cache = createCache({ store: redisStore(client), commandTimeout: '10s' })
    await cache.set('key', 'value')
    expect(await cache.peek('key')).toMatchObject({ value: 'value' })
    await cache.close()
    for (const each of [client, first, last]) each.disconnect()
  })
})

describe('kubernetes/app.yml', () => {
  const file = join(checkout, 'docs/kubernetes/app.yml')
  const resources = parseAllDocuments(readFileSync(file, 'utf8')).map(
    (each) => each.toJS() as { kind: string; apiVersion: string },
  )

  test('has the resources, fields and kinds of values that Kubernetes knows', async () => {
    // A compiler refuses fields that a type does not have; the validators of the models let them pass.
    const lines = resources.map(
      ({ kind, apiVersion, ...rest }, index) =>
        `import { type I${kind} } from 'kubernetes-models/${apiVersion}'\n` +
        `export const resource${index}: I${kind} = ${JSON.stringify({ kind, apiVersion, ...rest })}\n`,
    )
    // Beside the models.
    const folder = await mkdtemp(join(import.meta.dirname, 'node_modules/.kubernetes-'))
    try {
      await writeFile(join(folder, 'app.ts'), lines.join(''))
      const flags = '--noEmit --strict --skipLibCheck --module nodenext --ignoreConfig'.split(' ')
      const tsc = join(checkout, 'node_modules/.bin/tsc')
      const { stdout } = await promisify(execFile)(tsc, [...flags, 'app.ts'], { cwd: folder }).catch((error) => error)
      expect(stdout).toBe('')
    } finally {
      await rm(folder, { recursive: true })
    }
    expect(resources.map(({ kind }) => kind)).toEqual(['Deployment', 'Service', 'PodDisruptionBudget'])
  })

  test('gives a pod the time to shut down', () => {
    const [deployment] = resources as unknown as [IDeployment]
    const { terminationGracePeriodSeconds = 30, containers } = deployment.spec?.template.spec ?? { containers: [] }
    const [, preStop] = containers[0]?.lifecycle?.preStop?.exec?.command ?? []
    // The wait of docs/shutdown.md.
    expect(readFileSync(join(checkout, 'docs/shutdown.md'), 'utf8')).toContain('pause(10_000')
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(preStop) + 10)
  })
})
