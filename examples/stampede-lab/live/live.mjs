import { setInterval } from 'node:timers'

import { actionsOn } from './actions.mjs'
import { Fleet } from './fleet.mjs'
import { servePage } from './page-server.mjs'
import { Scene } from './scene.mjs'
import { valueTtl } from './settings.mjs'
import { Tour } from './tour.mjs'

/**
 * The lab that one can watch: a fleet under steady load, and a page that shows what it does and has buttons to disturb
 * it. The guided minute begins when the first viewer comes.
 *
 * Reading order: live.mjs, fleet.mjs (what runs), shop.mjs (one process of it), scene.mjs (the picture), actions.mjs
 * (the buttons), tour.mjs (the guided minute), page-server.mjs, page/.
 *
 * @param {{ port?: number, isGuided?: boolean }} [options]
 */
export async function startLive({ port = 0, isGuided = true } = {}) {
  const fleet = await Fleet.start()
  const scene = new Scene()
  const actions = actionsOn(fleet, scene)
  fleet.onReport = ({ shop, report }) => scene.add(shop, report)

  /** @param {string} name @param {string} [value] */
  async function act(name, value) {
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action === undefined)
      throw new TypeError(`Expected an action of ${Object.keys(actions).join(', ')}, got ${name}`)
    const text = await action(value)
    scene.note({ kind: 'act', text })
    return text
  }

  const tour = new Tour(act)

  /** An action may fail, for instance while Redis is down: the page tells that the tour has ended. */
  function playTour() {
    tour.play().catch((error) => scene.note({ kind: 'act', text: `The tour has ended: ${error.message}` }))
  }

  let isToured = !isGuided
  const looking = setInterval(() => {
    if (!fleet.isRedisUp) return scene.addLeases({ without: {}, with: {} })
    fleet.leases().then(
      (left) => scene.addLeases(left),
      () => {},
    )
  }, 100)

  const page = await servePage({
    port,
    snapshot() {
      if (!isToured) {
        isToured = true
        playTour()
      }
      return { ...scene.snapshot(fleet), tour: tour.now, valueTtl }
    },
    async act(name, value) {
      if (name === 'tour') {
        if (value === 'stop') tour.stop()
        else playTour()
        return value === 'stop' ? 'The tour has stopped.' : 'The tour has begun.'
      }
      // A viewer who acts has taken over.
      tour.stop()
      return act(name, value)
    },
  })

  return {
    url: page.url,
    redisUrl: fleet.redis.url,
    /** What the fleet does at the moment, as the page is told it. */
    snapshot: () => scene.snapshot(fleet),
    async stop() {
      tour.stop()
      clearInterval(looking)
      page.close()
      await fleet.stop()
    },
  }
}
