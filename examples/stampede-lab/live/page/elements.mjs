/** The few things that all parts of the page do with its elements. */

/** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement} */
export function find(selector, root = document) {
  return /** @type {HTMLElement} */ (root.querySelector(selector))
}

/** @param {string} name @param {string} [text] @param {string} [className] */
export function element(name, text = '', className = '') {
  const made = document.createElement(name)
  made.textContent = text
  made.className = className
  return made
}

/** Leaves an element alone that says it already. @param {HTMLElement} place @param {string} text */
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text
}
