/**
 * A fleet in virtual time: the process that loads stands still, another takes over, and the first one's value comes too
 * late. It prints
 *
 *   1 loads
 *   1 stands still
 *   3 loads
 *   1 goes on
 *   1's value was refused
 *   answers: of 3, of 3, of 3
 *   after … ms of virtual time
 */
import { virtualFleet } from 'herdless/testing'

const fleet = virtualFleet({ processes: 3, seed: 7, latency: { min: 1, max: 5 }, cache: { leaseTtl: '5s' } })
const [a, b, c] = fleet.processes

/** @param {import('herdless/testing').VirtualProcess} process */
const price = ({ cache, number, sleep }) =>
  cache.getOrLoad('price:42', async () => {
    console.log(`${number} loads`)
    await sleep('1s')
    return `of ${number}`
  })

a.cache.on('refused', () => console.log("1's value was refused"))
const first = price(a)
await fleet.advance('100ms')
console.log('1 stands still')
a.pause()
const others = await fleet.until(Promise.all([price(b), price(c)]))
console.log('1 goes on')
a.resume()
console.log('answers:', [await fleet.until(first), ...others].join(', '))
console.log(`after ${Math.round(fleet.clock.now())} ms of virtual time`)
await fleet.close()
