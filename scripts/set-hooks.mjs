/**
 * `npm install` in a clone calls this, as its script `prepare`: git finds the hooks of the project from then on. It changes
 * nothing where there is no clone, or where git finds hooks elsewhere.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const hooks = 'scripts/hooks'

if (existsSync('.git')) {
  try {
    const now = git('config', '--default', '', '--get', 'core.hooksPath')
    if (now === '') git('config', '--local', 'core.hooksPath', hooks)
    else if (now !== hooks) console.log(`Git finds its hooks in ${now}, and not those of ${hooks}`)
  } catch (error) {
    console.log(`Git does not find the hooks of ${hooks}: ${/** @type {Error} */ (error).message}`)
  }
}

/** @param {string[]} args */
function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
