import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { ProcessStarter } from '../support/fleet-process.ts'
import { startRedis } from '../support/servers.ts'

const worker = fileURLToPath(new URL('../support/traced-worker.mjs', import.meta.url))

interface Span {
  readonly name: string
  readonly id: string
  readonly trace: string
  readonly parent: string | null
  readonly links: readonly { readonly trace: string; readonly span: string }[]
}

test('the span of a wait has a link to the load in another process, with the trace of that one', async () => {
  await using server = await startRedis()
  const starter = await ProcessStarter.open(worker)
  try {
    const heard = new Map<string, () => void>()
    const said = (what: string): Promise<void> => new Promise((resolve) => heard.set(what, resolve))
    const start = async () => {
      const process = await starter.start<{ said: string }>((report, { index }) =>
        heard.get(`${index} ${report.said}`)?.(),
      )
      await process.ready
      await process.tell('open', { redis: { options: server.address } })
      return process
    }
    const [loads, waits] = [await start(), await start()]

    const begun = said(`${loads.index} load`)
    const first = loads.tell('get', { key: 'k' })
    await begun
    const enlisted = said(`${waits.index} wait`)
    const second = waits.tell('get', { key: 'k' })
    await enlisted
    await loads.tell('finish')
    expect(await Promise.all([first, second])).toEqual(['v', 'v'])

    const named = async (process: typeof loads): Promise<Record<string, Span>> => {
      const spans = (await process.tell('spans')) as Span[]
      return Object.fromEntries(spans.map((span) => [span.name, span]))
    }
    await until('the wait is over', async () => 'herdless.wait' in (await named(waits)))
    const [there, here] = [await named(loads), await named(waits)]
    expect(Object.keys(there).toSorted()).toEqual(['herdless.load', 'query', 'request'])
    expect(Object.keys(here).toSorted()).toEqual(['herdless.wait', 'request'])
    expect(there['query']?.parent).toBe(there['herdless.load']?.id)
    expect(there['herdless.load']?.parent).toBe(there['request']?.id)
    expect(here['herdless.wait']).toMatchObject({
      trace: here['request']?.trace,
      parent: here['request']?.id,
      links: [{ trace: there['request']?.trace, span: there['herdless.load']?.id }],
    })
    expect(here['request']?.trace).not.toBe(there['request']?.trace)
    for (const process of [loads, waits]) expect(await process.complaint()).toBe('')
  } finally {
    await starter.stop()
  }
})
