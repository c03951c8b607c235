/** @typedef {{ id: number, name: string, cents: number }} Product */

/** @param {Product[]} products */
export const shopPage = (products) =>
  page(
    'The shop',
    list(products.map(({ id, name, cents }) => `<a href="/products/${id}">${text(name)}</a> ${price(cents)}`)),
  )

/** @param {Product} product */
export const productPage = ({ id, name, cents }) =>
  page(name, `<p>${price(cents)}</p><form method="post" action="/cart/${id}"><button>Into the cart</button></form>`)

/** @param {{ name: string, pieces: number }[]} entries */
export const cartPage = (entries) =>
  page(
    'Your cart',
    entries.length === 0 ? '<p>nothing</p>' : list(entries.map(({ name, pieces }) => `${pieces} × ${text(name)}`)),
  )

/**
 * @param {string} title
 * @param {string} content HTML
 */
const page = (title, content) =>
  `<!doctype html><meta charset="utf-8"><title>${text(title)}</title>
<nav><a href="/">shop</a> <a href="/cart">cart</a></nav><h1>${text(title)}</h1>${content}`

/** @param {string[]} entries HTML */
const list = (entries) => `<ul>${entries.map((entry) => `<li>${entry}</li>`).join('')}</ul>`

/** @param {number} cents */
const price = (cents) => `${(cents / 100).toFixed(2)} €`

/** @param {string} plain */
const text = (plain) => plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
