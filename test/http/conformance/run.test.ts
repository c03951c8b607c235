import { expect, test } from 'vitest'
import { conformanceOf } from './run.ts'
import { nothing } from './subject.ts'

test('one test alone is run with all that client and origin say of it', async () => {
  const lines: string[] = []
  const results = await conformanceOf(nothing, { only: 'vary-star', heard: (line) => lines.push(line) })
  expect([...results.values()].map(({ id, outcome }) => [id, outcome])).toEqual([['vary-star', 'passed']])
  for (const words of ['Client request 1', 'Server request 1', 'Server response 1', 'Client response 2']) {
    expect(lines.join('\n')).toContain(words)
  }
})

test('a test that the suite does not have is not run', async () => {
  await expect(conformanceOf(nothing, { only: 'vary-moon' })).rejects.toThrow('The suite has no test vary-moon')
})

test('a middleware that answers itself, always the same, passes what wants that and fails what forbids it', async () => {
  const kept = new Map<string, { headers: string[]; body: Buffer[] }>()
  const outcomes = await Promise.all(
    ['freshness-max-age', 'cc-resp-no-store'].map(async (only) => {
      const results = await conformanceOf(
        (req, res, next) => {
          const known = req.method === 'GET' ? kept.get(req.originalUrl) : undefined
          if (known) return void res.writeHead(200, known.headers).end(Buffer.concat(known.body))
          const copy: { headers: string[]; body: Buffer[] } = { headers: [], body: [] }
          const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => typeof res
          const write = res.write.bind(res) as (...args: unknown[]) => boolean
          res.writeHead = (...args: unknown[]) => {
            copy.headers = args.at(-1) as string[]
            return writeHead(...args)
          }
          res.write = (...args: unknown[]) => {
            copy.body.push(args[0] as Buffer)
            return write(...args)
          }
          res.on('finish', () => kept.set(req.originalUrl, copy))
          next()
        },
        { only },
      )
      return results.get(only)?.outcome
    }),
  )
  expect(outcomes).toEqual(['passed', 'failed'])
})
