/** `next start` on a free port, which it says once the server answers. */
import net from 'node:net'
import { once } from 'node:events'
import { nextStart } from 'next/dist/cli/next-start.js'

const probe = net.createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
await new Promise((resolve) => probe.close(resolve))
process.env.NODE_ENV = 'production'
await nextStart({ port, hostname: '127.0.0.1' }, import.meta.dirname)
console.log(`listens on ${port}`)
