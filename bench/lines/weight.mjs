import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** `createCache` alone, as an application that bundles its dependencies has it. @type {import('./line.mjs').Line} */
export const bundle = {
  title: 'createCache, bundled, minified and compressed',
  unit: 'bytes',
  better: 'less',
  floor: 'goal',
  goals: { herdless: 1 },
  async open({ folder }) {
    const contents = `export { createCache } from ${JSON.stringify(join(folder, 'index.js'))}`
    return {
      ways: {
        goal: async () => 25_600,
        herdless: async () => {
          const stdin = { contents, resolveDir: folder }
          const options = {
            stdin,
            bundle: true,
            minify: true,
            write: false,
            platform: 'node',
            format: 'esm',
            target: 'node20',
          }
          const { outputFiles } = await build(
            /** @type {import('esbuild').BuildOptions & { write: false }} */ (options),
          )
          return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
        },
      },
      close: async () => undefined,
    }
  },
}

/** The time of `import 'herdless'` in a process of its own. @type {import('./line.mjs').Line} */
export const importTime = {
  title: 'import of herdless, in a process of its own',
  unit: 'ms',
  better: 'less',
  floor: 'goal',
  goals: { herdless: 1 },
  async open({ folder }) {
    const url = JSON.stringify(pathToFileURL(join(folder, 'index.js')).href)
    const program = `const began = performance.now(); await import(${url}); console.log(performance.now() - began)`
    return {
      ways: {
        goal: async () => 25,
        herdless: async () => {
          const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
          return Number(stdout)
        },
      },
      close: async () => undefined,
    }
  },
}
