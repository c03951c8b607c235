/** The words of the page in the language of its reader: `?lang=zh` or `?lang=en`, else that of the browser. */
import { en } from './words.en.mjs'
import { zh } from './words.zh.mjs'

/** @typedef {import('./words.en.mjs').Words} Words */

const asked = new URLSearchParams(location.search).get('lang')
const isChinese = (asked ?? navigator.language).toLowerCase().startsWith('zh')

/** @type {Words} */
export const words = isChinese ? zh : en

/** Says whatever on the page stands there in every state. @param {ParentNode} [root] */
export function sayWords(root = document) {
  document.documentElement.lang = words.language
  for (const place of root.querySelectorAll('[data-word]')) {
    const name = /** @type {keyof Words['page']} */ (place.getAttribute('data-word'))
    place.textContent = words.page[name]
  }
}

const numbers = new Intl.NumberFormat('en')

/** @param {number} count */
export function counted(count) {
  return numbers.format(count)
}

/** @param {number} ms */
export function lasted(ms) {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
