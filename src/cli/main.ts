#!/usr/bin/env node
import { complaint } from './ending.ts'
import { herdless } from './program.ts'
import { wrapped } from './terminal.ts'

const program = herdless()

// The reader of a pipe, such as `head`, may go away; a purge is carried out all the same.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

program.parseAsync().catch((error: unknown) => {
  const told = complaint(error, program, [...process.argv.slice(2), process.env['REDIS_URL'] ?? ''])
  if (told === null) return
  console.error(wrapped(told, '', process.stderr))
  process.exitCode = 2
})
