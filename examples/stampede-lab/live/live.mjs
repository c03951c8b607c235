import { setInterval } from 'node:timers'

import { actionsOn } from './actions.mjs'
import { Fleet } from './fleet.mjs'
import { servePage } from './page-server.mjs'
import { Scene } from './scene.mjs'
import { reportEvery } from './settings.mjs'
import { Tape } from './tape.mjs'
import { Tour } from './tour.mjs'

/**
 * The lab that one can watch: a fleet under steady load, and a page that shows what it does and has buttons to disturb
 * it. The tour begins when the first viewer comes.
 *
 * Reading order: live.mjs, fleet.mjs (what runs), shop.mjs (one process of it), scene.mjs (the picture) with tape.mjs
 * (what happened), actions.mjs (the buttons), tour.mjs (the tour), page-server.mjs, page/page.mjs.
 *
 * @param {{ port?: number, isGuided?: boolean }} [options]
 */
export async function startLive({ port = 0, isGuided = true } = {}) {
  const fleet = await Fleet.start()
  const tape = new Tape()
  const scene = new Scene(tape)
  const actions = actionsOn(fleet, scene)
  fleet.onReport = (news) => scene.addReport(news)

  /** Actions follow one another: the next one finds what the last one has left. @type {Promise<unknown>} */
  let last = Promise.resolve()

  /** @param {string} name @param {string} [value] */
  async function act(name, value) {
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action === undefined)
      throw new TypeError(`Expected an action of ${Object.keys(actions).join(', ')}, got ${name}`)
    const done = last.then(() => action(value))
    last = done.catch(() => {})
    await done
  }

  const tour = new Tour({ act, counts: (side) => scene.counts(side), mayStopRedis: fleet.redis.isOwn })

  /** @param {unknown} error */
  function tellTrouble(error) {
    tape.add({ kind: 'trouble', message: error instanceof Error ? error.message : `${error}` })
  }

  let isToured = !isGuided
  const looking = setInterval(() => {
    scene.concludeWhenIdle()
    if (!fleet.isRedisUp) return
    fleet.timesLeft().then(
      (left) => {
        scene.addLeases(left, (side) => fleet.isHerdless(side))
        if (tour.now === null && scene.isOld(left)) act('age').catch(tellTrouble)
      },
      // The next look may succeed.
      () => {},
    )
  }, reportEvery)

  const page = await servePage({
    port,
    snapshot() {
      if (!isToured) {
        isToured = true
        tour.play().catch(tellTrouble)
      }
      return { ...scene.snapshot(fleet), tour: tour.now, results: tour.results }
    },
    async act(name, value) {
      // A viewer who acts has taken over.
      tour.stop()
      if (name === 'tour' && value === 'start') tour.play().catch(tellTrouble)
      if (name === 'tour') return
      await act(name, value).catch((error) => {
        tellTrouble(error)
        throw error
      })
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
