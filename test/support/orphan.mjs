/** A process that starts a server, says which one, and ends as its parent says, without stopping it. */
import { startServer } from '../../tools/servers/start-redis.mjs'

const { pid, folder } = await startServer()
process.send?.({ pid, folder })
process.once('message', (end) => {
  if (end === 'throw') throw new Error('This test process crashes on purpose')
  process.disconnect()
})
