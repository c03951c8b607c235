/** What a viewer may press, and what was said of it. */
import { find, say } from './elements.mjs'
import { words } from './words.mjs'

const all = () =>
  /** @type {NodeListOf<HTMLButtonElement | HTMLInputElement>} */ (document.querySelectorAll('main button, main input'))

/** These need a Redis that answers. */
const needRedis = ['expire', 'invalidate', 'flush', 'crawl', 'kill', 'pause']

/** Does it in the lab. What was done comes back in the tape. @param {string} name @param {string} [value] */
export async function act(name, value = '') {
  try {
    await fetch(`actions/${name}?value=${encodeURIComponent(value)}`, {
      method: 'POST',
      headers: { 'x-herdless-lab': '1' },
    })
  } catch {
    say(find('#said'), words.noAnswer)
  }
}

export function listen() {
  for (const button of document.querySelectorAll('[data-action]')) {
    button.addEventListener('click', () => act(button.getAttribute('data-action') ?? ''))
  }
  for (const button of document.querySelectorAll('[data-toggle]')) {
    button.addEventListener('click', () =>
      act(button.getAttribute('data-toggle') ?? '', isPressed(button) ? 'off' : 'on'),
    )
  }
  for (const radio of document.querySelectorAll('input[name="way"]')) {
    radio.addEventListener('change', () => act('way', /** @type {HTMLInputElement} */ (radio).value))
  }
  const redis = find('#redis-button')
  redis.addEventListener('click', () => act(isPressed(redis) ? 'redisUp' : 'redisDown'))
}

/** @param {import('./snapshot.d.ts').Snapshot} snapshot */
export function drawControls({ way, source, redis }) {
  for (const control of all()) {
    const action = control.getAttribute('data-action') ?? ''
    control.disabled = (!redis.isUp && needRedis.includes(action)) || (control.id === 'redis-button' && !redis.isOwn)
  }
  const radio = /** @type {HTMLInputElement} */ (find(`input[value="${way}"]`))
  radio.checked = true
  press('[data-toggle="slow"]', source.delay > 0)
  press('[data-toggle="failing"]', source.isBroken)
  press('#redis-button', !redis.isUp)
}

/** Nothing can be done in a lab that has ended. */
export function disableControls() {
  for (const control of all()) control.disabled = true
}

/** @param {string} selector @param {boolean} isOn */
function press(selector, isOn) {
  find(selector).setAttribute('aria-pressed', String(isOn))
}

/** @param {Element} button */
function isPressed(button) {
  return button.getAttribute('aria-pressed') === 'true'
}
