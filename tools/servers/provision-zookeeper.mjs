/**
 * Finds ZooKeeper to run, or fetches it. Java must be there. In this order:
 *
 *  1. where Debian installs it
 *  2. a copy fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own packages, fetched and unpacked into that cache
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/** @typedef {{ java: string, classPath: string }} ZooKeeper */

/** What a server needs that is started without its admin page, each from a package of its own. */
const jars = {
  'zookeeper.jar': 'libzookeeper-java',
  'zookeeper-jute.jar': 'libzookeeper-java',
  'slf4j-api.jar': 'libslf4j-java',
  'slf4j-simple.jar': 'libslf4j-java',
  'snappy-java.jar': 'libsnappy-java',
  'metrics-core.jar': 'libdropwizard-metrics-java',
  'netty-all.jar': 'libnetty-java',
  'commons-cli.jar': 'libcommons-cli-java',
  'commons-io.jar': 'libcommons-io-java',
}

/** @type {import('./system-package.mjs').SystemPackage<ZooKeeper>} */
const server = {
  name: 'zookeeper',
  what: 'ZooKeeper',
  packages: [[...new Set(Object.values(jars))]],
  linked: false,
  find: (root) => found(join(root, 'usr/share/java')),
  tried,
}

/**
 * @returns {Promise<ZooKeeper>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionZooKeeper() {
  try {
    const installed = found('/usr/share/java')
    if (installed) return await tried(installed)
    return (await fetchedEarlier(server)) ?? (await fetchPackage(server))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `There is no ZooKeeper here, and none could be fetched: ${reason}. Install a Java runtime so that java is on the ` +
        'PATH, and on a system without apt-get the jar files of ZooKeeper 3.8 in /usr/share/java.',
      { cause: error },
    )
  }
}

/** @param {string} folder */
function found(folder) {
  const all = Object.keys(jars).every((jar) => existsSync(join(folder, jar)))
  return all ? join(folder, 'zookeeper.jar') : undefined
}

/** @param {string} jar */
async function tried(jar) {
  const java = findProgram('java', foldersOfPath())
  if (java === undefined) throw new Error('there is no java on the PATH')
  await promisify(execFile)(java, ['-version'])
  const folder = dirname(jar)
  return {
    java,
    classPath: Object.keys(jars)
      .map((name) => join(folder, name))
      .join(delimiter),
  }
}
