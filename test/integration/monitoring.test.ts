import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import client from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { collectMetrics } from '../../src/prometheus/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { checkout } from '../../tools/command.mjs'
import { guardianOfThisProcess, type GuardedProcess } from '../../tools/servers/guarded-process.mjs'
import { provisionPrometheus } from '../../tools/servers/provision-prometheus.mjs'
import { until } from '../../tools/until.mjs'
import { missing } from '../support/provided.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const reason = await missing(provisionPrometheus)
const rules = join(checkout, 'docs/monitoring/herdless.rules.yml')
const dashboard = JSON.parse(readFileSync(join(checkout, 'docs/monitoring/grafana-dashboard.json'), 'utf8')) as {
  readonly panels: readonly Panel[]
}
const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const))
/** For a busy machine, in milliseconds. */
const patience = 60_000

test('the dashboard shows each metric that there is', () => {
  const register = new client.Registry()
  collectMetrics(createCache(), { client, register })
  const shown = queries.map(([, query]) => query).join(' ')
  const missed = register.getMetricsAsArray().filter(({ name }) => !shown.includes(name))
  expect(missed.map(({ name }) => name)).toEqual([])
})

describe.skipIf(reason !== undefined)(`in Prometheus${reason ? ` (${reason})` : ''}`, () => {
  let redis: RedisServer
  let cache: Cache
  let app: Server
  let prometheus: GuardedProcess
  let url: string

  beforeAll(async () => {
    redis = await startRedis()
    const sources = { pg: { concurrency: 5 } }
    cache = createCache({ store: redisStore(redis.connect()), namespace: 'shop', near: {}, ttl: '10m', sources })
    const register = new client.Registry()
    collectMetrics(cache, { client, register })
    app = createServer(async (_request, response) => {
      response.setHeader('content-type', register.contentType)
      response.end(await register.metrics())
    })
    app.listen(0, '127.0.0.1')
    await once(app, 'listening')
    const { port } = app.address() as AddressInfo
    ;({ prometheus, url } = await startPrometheus(port))
  })

  afterAll(async () => {
    await prometheus?.stop()
    await cache?.close()
    app?.close()
    app?.closeAllConnections()
    await redis?.stop()
  })

  async function ask(query: string): Promise<{ status: string; data: { result: unknown[] } }> {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)
    return (await response.json()) as { status: string; data: { result: unknown[] } }
  }

  test('the rules are well-formed, and raise their alerts by the histories of their test', async () => {
    const { promtool } = await provisionPrometheus()
    const run = promisify(execFile)
    const { stdout } = await run(promtool, ['check', 'rules', rules])
    expect(stdout).toContain('SUCCESS: 9 rules found')
    const tested = await run(promtool, ['test', 'rules', join(checkout, 'test/integration/monitoring.rules.test.yml')])
    expect(tested.stdout).toContain('SUCCESS')
  })

  test('each query of the dashboard is answered from what an app exports', async () => {
    // The process waits for the load of another one.
    const other = createCache({ store: redisStore(redis.connect()), namespace: 'shop', commandTimeout: '30s' })
    let finish!: () => void
    const loading = other.getOrLoad('waited', () => new Promise<string>((resolve) => (finish = () => resolve('value'))))
    await new Promise((resolve) => other.on('load', resolve))
    const waited = new Promise((resolve) => cache.on('wait', resolve))
    const waiting = cache.getOrLoad('waited', () => 'another')
    await waited
    finish()
    await Promise.all([loading, waiting])
    await other.close()
    // Two scrapes apart, so that there are rates.
    const isRated = async (): Promise<boolean> => {
      await cache.getOrLoad(`key ${Math.random()}`, () => 'value')
      await cache.getOrLoad('hot', () => 'value')
      await cache.getOrLoad(`row ${Math.random()}`, () => 'value', { source: 'pg' })
      await cache.getOrLoad(`bad ${Math.random()}`, () => Promise.reject(new Error('away'))).catch(() => null)
      await cache.invalidate('other')
      const { data } = await ask('rate(herdless_loads_total{leased="true"}[5m])')
      return data.result.length === 1
    }
    await until('there are rates', isRated, patience)
    // The state of the subscription is not told before it changes.
    const told = queries.filter(([, query]) => !query.includes('herdless_push_up'))
    for (const [title, query] of told) {
      const filled = query.replaceAll('$namespace', '.*').replaceAll('$__rate_interval', '5m')
      const isAnswered = async (): Promise<boolean> => {
        const { status, data } = await ask(filled)
        expect({ title, status }).toEqual({ title, status: 'success' })
        return data.result.length > 0
      }
      // One scrape that a busy machine has missed hides what has one value.
      await until(`${title} is answered`, isAnswered, patience)
    }
  })

  test('the alert of a store that is down is raised when the server is killed', async () => {
    await redis.kill()
    const isRaised = async (): Promise<boolean> => {
      await cache.getOrLoad(`key ${Math.random()}`, () => 'value')
      const response = await fetch(`${url}/api/v1/alerts`)
      const { data } = (await response.json()) as { data: { alerts: { labels: { alertname: string } }[] } }
      return data.alerts.some(({ labels }) => labels.alertname === 'HerdlessStoreDown')
    }
    expect(await until('the alert is raised', isRaised, patience)).toBe(true)
  })
})

/** Starts a Prometheus that scrapes an app four times a second, and holds its metrics against the rules. */
async function startPrometheus(port: number): Promise<{ prometheus: GuardedProcess; url: string }> {
  const { prometheus: program } = await provisionPrometheus()
  const guardian = guardianOfThisProcess()
  const folder = await guardian.newFolder()
  const config = {
    global: { scrape_interval: '250ms', evaluation_interval: '250ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'shop', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
  }
  // JSON is YAML, too.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--web.listen-address=127.0.0.1:0']
  const started = await guardian.start(program, args, { folder, env: {} })
  const listening = (): string | undefined =>
    /Listening on.*?127\.0\.0\.1:(\d+)/.exec(readFileSync(join(folder, 'log'), 'utf8'))?.[1]
  const url = `http://127.0.0.1:${await until('Prometheus listens', listening, patience)}`
  await until('Prometheus is ready', async () => (await fetch(`${url}/-/ready`)).ok, patience)
  return { prometheus: started, url }
}
