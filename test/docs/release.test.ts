import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { checkout } from '../../tools/command.mjs'
import { obstacles } from '../../tools/release.mjs'

const manifest = { version: '1.2.3', repository: { type: 'git', url: 'git+https://example.com/herdless.git' } }
const changelog =
  '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-25\n\n### Added\n\n- Something.\n\n## 1.2.2 - 2026-11-01\n'
const good = { manifest, changelog, tag: 'v1.2.3' }

describe('a release', () => {
  test('goes on with a section for its version in the changelog', () => {
    expect(obstacles(good)).toEqual([])
  })

  test.for([
    [
      'no section',
      { changelog: changelog.replace('1.2.3 - 2026-11-25', '1.2.4 - 2026-11-25') },
      /no section for 1\.2\.3/,
    ],
    ['a section without a date', { changelog: changelog.replace(' - 2026-11-25', ' (soon)') }, /no date/],
    ['an empty section', { changelog: changelog.replace('- Something.\n', '') }, /lists no change/],
    ['another tag', { tag: 'v1.2.4' }, /The tag is v1\.2\.4/],
    ['no repository', { manifest: { version: '1.2.3' } }, /no `repository`/],
    ['a private package', { manifest: { ...manifest, private: true } }, /private/],
  ] as const)('stops at %s', ([, change, message]) => {
    expect(obstacles({ ...good, ...change })).toEqual([expect.stringMatching(message)])
  })

  test('is checked and tested before it is published, with its provenance', () => {
    const { permissions, jobs } = parse(readFileSync(join(checkout, '.github/workflows/publish.yml'), 'utf8')) as {
      permissions: Record<string, string>
      jobs: { publish: { steps: { run?: string }[] } }
    }
    expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    const runs = jobs.publish.steps.flatMap(({ run }) => run ?? [])
    expect(runs).toEqual([
      expect.stringContaining('npm ci'),
      expect.stringContaining('scripts/check-release.mjs "$GITHUB_REF_NAME"'),
      '.ci/run',
      expect.stringContaining('npm publish --provenance'),
    ])
  })
})
