/** `npm run soak`: a fleet under one fault after the other for as long as you like, and a report in Markdown. */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { parseDuration, longestTimer } from '../../src/core/time/duration.ts'
import { endure, growthOf, isRepeatable, type Endured } from './endure.ts'
import { scenarios } from './scenarios/index.ts'
import { settingsIn, useClient, type Settings } from './settings.ts'
import type { Kind } from './surroundings.ts'

const usage = `npm run soak -- [options]

Lets a fleet work for a long time, under faults drawn by chance, and judges all that happens.

  --for <duration>   how long, such as 10m or 1h (1m)
  --settings <word>  quick: short leases and deadlines, and writes all the time; or defaults: those of the library, and
                     nothing else that heals (quick)
  --client <name>    whose clients the fleet has: ioredis or node-redis (ioredis)
  --rate <number>    calls a second, of all processes together (2000)
  --seed <number>    what is drawn by chance is drawn from it (1)
  --on <kind>        what servers it is on: node, tls, clock, sentinel or cluster (node)
  --report <file>    where the report goes; by default it is printed
`

try {
  await main()
} catch (error) {
  console.error(error instanceof TypeError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = 2
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      for: { ...text, default: '1m' },
      settings: { ...text, default: 'quick' },
      client: { ...text, default: 'ioredis' },
      rate: { ...text, default: '2000' },
      seed: { ...text, default: '1' },
      on: { ...text, default: 'node' },
      report: text,
    },
  })
  if (values.help) return console.log(usage)
  useClient(values.client)
  const [settings, another] = settingsIn(values.settings) as [Settings, Settings?]
  if (another !== undefined)
    throw new TypeError('Expected --settings to be quick or defaults: one fleet has one of them')
  const faults = scenarios.filter((scenario) => scenario.on === values.on && isRepeatable(scenario, settings))
  if (faults.length === 0)
    throw new TypeError(`Expected --on to be node, tls, clock, sentinel or cluster, got ${values.on}`)
  const how = {
    settings,
    lasts: parseDuration('--for', values.for, { most: longestTimer }),
    seed: Number(values.seed),
    rate: Number(values.rate),
  }
  const endured = await endure(faults, { ...how, progress: (line) => console.error(line) })
  const report = reportOf(endured, { ...how, on: values.on as Kind, client: values.client })
  if (values.report) await writeFile(values.report, report)
  else console.log(report)
  console.error(
    endured.wrong.length === 0 ? 'All promises were kept.' : `${endured.wrong.length} promises were broken.`,
  )
  process.exitCode = endured.wrong.length === 0 ? 0 : 1
}

function reportOf(
  { lasted, figures, faults, wrong, heaps }: Endured,
  { settings, seed, rate, on, client }: { settings: Settings; seed: number; rate: number; on: Kind; client: string },
): string {
  const answers = Object.entries(figures.answers).map(([told, count]): [string, string] => [
    told === 'value'
      ? 'answered with a value'
      : told === 'no answer'
        ? 'killed while they waited'
        : `answered with ${told}`,
    String(count),
  ])
  const numbers: [string, string][] = [
    ['lasted', `${(lasted / 60_000).toFixed(1)} min`],
    ['calls', `${figures.calls} (${((1_000 * figures.calls) / lasted).toFixed(0)}/s)`],
    ...answers,
    ['loads', String(figures.loads)],
    ['of them without a lease', String(figures.alone)],
    ['of them while another load of the key ran', String(figures.extra)],
    ['invalidations and sets', String(figures.writes)],
    ['slowest answer', `${figures.slowest.toFixed(0)} ms`],
    ['longest until normal after a fault', `${figures.normalAfter.toFixed(0)} ms`],
    ['leases that outlived their loads', String(figures.ghosts)],
  ]
  const memory = [...heaps].flatMap(([process, samples]): [string, string][] => {
    const growth = growthOf(samples)
    const [first = 0, last = 0] = [samples[0], samples.at(-1)]
    const seen = `${megabytes(first)} at first, ${megabytes(last)} at last, ${samples.length} samples`
    return growth === undefined ? [] : [[`process ${process}`, `${seen}, grown by ${megabytes(growth)}`]]
  })
  return [
    `# Soak\n\nOn ${on} by ${client}, ${settings} settings, ${rate} calls a second, seed ${seed}, Node.js ${process.version}, ${new Date().toISOString()}.`,
    table('figure', 'value', numbers),
    `## Faults\n\n${table(
      'fault',
      'times',
      Object.entries(faults).map(([name, times]) => [name, String(times)]),
    )}`,
    `## Memory\n\n${memory.length === 0 ? 'Not long enough to say.' : table('heap', 'bytes in use after collection', memory)}`,
    `## Broken promises\n\n${wrong.length === 0 ? 'None.' : wrong.map((words) => `- ${words}`).join('\n')}`,
    '',
  ].join('\n\n')
}

function table(one: string, other: string, rows: readonly (readonly [string, string])[]): string {
  return [`| ${one} | ${other} |`, '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n')
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
