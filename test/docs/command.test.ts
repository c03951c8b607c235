import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { herdless } from '../../src/cli/program.ts'
import { doc } from './markdown.ts'

const page = doc('docs/command.md')
const commands = herdless().commands

/** The help of a command, as it is printed where there is no terminal. */
function helpOf(command: Command): string {
  const lines: string[] = []
  command.configureOutput({ writeOut: (text) => void lines.push(text), getOutHelpWidth: () => 80 }).outputHelp()
  return lines.join('').trimEnd()
}

describe('the page of the command', () => {
  test.for(commands.map((command) => [command.name(), command] as const))('has the help of %s', ([name, command]) => {
    const shown = page.blocks.find(({ info }) => info === `from=help-${name}`)
    expect(shown?.code).toBe(helpOf(command))
    expect(page.anchors).toContain(`herdless-${name}`)
  })

  test('has no other commands', () => {
    const shown = page.blocks.flatMap(({ info }) => /^from=help-(.*)/.exec(info)?.[1] ?? [])
    expect(shown.toSorted()).toEqual(commands.map((command) => command.name()).toSorted())
  })

  test('is linked where a command line of it is shown elsewhere', () => {
    for (const path of ['docs/explain.md', 'docs/production.md', 'docs/tags.md']) {
      expect(doc(path).links.filter((link) => link.startsWith('command.md'))).not.toEqual([])
    }
  })
})
