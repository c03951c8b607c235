/** `npm run conformance`: what http-cache-tests says of the middleware, for those who want to mend something. */
import { parseArgs } from 'node:util'
import { totalsInWords } from './compare.ts'
import { conformanceOf, type Result, type Results } from './run.ts'
import { nothing, subject } from './subject.ts'

const usage = `npm run conformance -- [options]

Runs http-cache-tests on an Express app with the middleware, and shows how each part of the suite came out.

  --id <test>       runs that test alone, and shows its requests and responses, at the client and at the origin
  --without-cache   runs it without the middleware
`

try {
  await main()
} catch (error) {
  console.error(error instanceof TypeError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = 2
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { id: { type: 'string' }, 'without-cache': { type: 'boolean' }, help: { type: 'boolean' } },
  })
  if (values.help) return console.log(usage)
  const middleware = values['without-cache'] ? nothing : subject()
  if (values.id === undefined) return showAll(await conformanceOf(middleware))
  const results = await conformanceOf(middleware, { only: values.id, heard: (line) => console.log(line) })
  for (const { id, name, kind, outcome, detail } of results.values()) {
    console.log(`${id} (${kind}): ${name}\n${[outcome, detail].filter(Boolean).join('. ')}`)
  }
}

function showAll(results: Results): void {
  const all = [...results.values()]
  console.log('required  optimal  checks: yes')
  for (const suite of new Set(all.map((result) => result.suite))) {
    const ofSuite = all.filter((result) => result.suite === suite)
    const cells = [share(ofSuite, 'required').padEnd(10), share(ofSuite, 'optimal').padEnd(9), share(ofSuite, 'check')]
    console.log(`${cells.join('').padEnd(27)}${suite}`)
    for (const { id, kind, outcome, detail } of ofSuite) {
      if (kind !== 'check' && outcome !== 'passed') console.log(`    ${id} (${kind}) ${outcome}. ${detail}`)
    }
  }
  console.log(`\n${totalsInWords(results)}`)
}

/** How many of a kind came out well, of how many. */
function share(results: readonly Result[], kind: Result['kind']): string {
  const ofKind = results.filter((result) => result.kind === kind)
  const well = ofKind.filter(({ outcome }) => outcome === 'passed' || outcome === 'yes')
  return ofKind.length === 0 ? '-' : `${well.length}/${ofKind.length}`
}
