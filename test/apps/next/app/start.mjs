/** `next start` on a free port, which it says once the server answers. */
import { nextStart } from 'next/dist/cli/next-start.js'

process.env.NODE_ENV = 'production'
await nextStart({ port: 0, hostname: '127.0.0.1' }, import.meta.dirname)
// Next has put it there.
console.log(`listens on ${process.env.PORT}`)
