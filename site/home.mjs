/** The home page of a language: the parts of its README, with the claim and the code side by side. */

/** @type {Record<string, { title: string, start: [string, string], other: [string, string] }>} */
const words = {
  'README.md': {
    title: 'One load for the whole fleet',
    start: ['Start in five minutes', '/start'],
    other: ['Do you need this?', '/do-you-need-this'],
  },
  'README.zh-CN.md': {
    title: '整个集群，只回源一次',
    start: ['五分钟上手', '/zh/start'],
    other: ['你需要它吗？（英文）', '/do-you-need-this'],
  },
}

/**
 * @param {string} path of the README, from the root of the checkout
 * @param {string} text of it, with the links of the site
 * @returns {string | undefined} `undefined` for any other document
 */
export function homeOf(path, text) {
  const told = words[path]
  if (told === undefined) return undefined
  const [intro = '', measured = '', features = '', lab = ''] = text.split(/^(?:<a id="[\w-]+"><\/a>\n)?## /m)
  const [install = '', ...code] = intro.match(/^```[^]*?^```$/gm) ?? []
  const [, note = ''] = /^```\n\n(?!```)(.*)$/m.exec(intro) ?? []
  const [, claim = ''] = /^# herdless\n\n(.*?) \[[^\]]*\]\([^)]*\)\n/.exec(intro) ?? []
  const picture = intro.slice(intro.search(/^!\[/m))
  /** @param {[name: string, link: string]} link @param {string} theme */
  const button = ([name, link], theme) =>
    `<a class="VPButton medium ${theme}" href="__BASE__${link.slice(1)}">${name}</a>`
  return `---
sidebar: false
aside: false
pageClass: home
title: herdless
titleTemplate: ${told.title}
---

<div class="first">
<div>

# herdless

<p class="claim">${claim}</p>

${install}

${note}

<p class="actions">${button(told.start, 'brand')}${button(told.other, 'alt')}</p>

</div>
<div>

${code.join('\n\n')}

</div>
</div>

${picture}
## ${withDots(measured)}
## ${features}
## ${lab}`
}

/**
 * Coloured circles as dots, which look alike in all fonts; words beside them say the same.
 * @param {string} text
 */
function withDots(text) {
  /** @type {Record<string, string>} */
  const colours = { '🟢': 'good', '🟡': 'fair', '🔴': 'bad' }
  return text.replaceAll(/[🟢🟡🔴]/gu, (circle) => `<i class="dot ${colours[circle]}"></i>`)
}
