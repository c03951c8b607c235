/**
 * The obstacles to a release.
 * @param {object} release
 * @param {{ version: string, repository?: unknown, private?: boolean }} release.manifest package.json
 * @param {string} release.changelog CHANGELOG.md
 * @param {string} release.tag the tag in git
 * @returns {string[]} empty if it may be published
 */
export function obstacles({ manifest, changelog, tag }) {
  const { version } = manifest
  const found = []
  if (tag !== `v${version}`) found.push(`The tag is ${tag}, and package.json has the version ${version}.`)
  const section = changelog
    .split(/^## /m)
    .find((each) => each.startsWith(`${version} `) || each.startsWith(`[${version}] `))
  if (section === undefined) {
    found.push(`CHANGELOG.md has no section for ${version}: rename "Unreleased" to "${version} - ${today()}".`)
  } else {
    const [heading = '', ...body] = section.split('\n')
    if (!/ - \d{4}-\d\d-\d\d$/.test(heading))
      found.push(`The section "${heading}" of CHANGELOG.md has no date (${today()}).`)
    if (!body.some((line) => line.startsWith('- ')))
      found.push(`The section for ${version} in CHANGELOG.md lists no change.`)
  }
  if (manifest.repository === undefined) {
    found.push('package.json has no `repository`: npm compares it with the place of the build (provenance).')
  }
  if (manifest.private === true) found.push('package.json is private.')
  return found
}

function today() {
  return new Date().toISOString().slice(0, 10)
}
