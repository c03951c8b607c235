/** Runs a module and ends, whatever connections it has left open. */
import { pathToFileURL } from 'node:url'

await import(pathToFileURL(process.argv[2] ?? '').href)
process.exit()
