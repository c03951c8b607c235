import { readFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import { defineConfig } from 'vitepress'
import { anchorOf } from '../../tools/anchor.mjs'
import { pageOf } from '../pages.mjs'

const { version, repository } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** Where the site leads out: the repository, once package.json names one, and the changelog. */
const source = repository?.url?.replace(/^git\+|\.git$/g, '')
const out = {
  changelog: '/changelog',
  social: source === undefined ? [] : [{ icon: 'github', link: source }],
  edit: source === undefined ? undefined : { pattern: `${source}/edit/main/docs/:path` },
}

/** One arrow of four goes on. */
const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b63"/>' +
      '<g stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M7 9h6M7 16h18M7 23h6"/></g></svg>',
  )

export default defineConfig({
  title: 'herdless',
  description: 'One load for the whole fleet: a cache for Node.js on Redis that keeps the herd off the source.',
  base: process.env.SITE_BASE,
  srcDir: 'pages',
  outDir: 'dist',
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: icon }]],
  // Links of the documents are links of the same headings on GitHub.
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
  },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: theme('docs/README.md') },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      description: '基于 Redis 的 Node.js read-through 缓存：整个集群，只回源一次。',
      themeConfig: {
        ...theme('docs/zh/README.md'),
        outline: { label: '本页目录', level: [2, 3] },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '外观',
        sidebarMenuLabel: '目录',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '语言',
        skipToContentLabel: '跳到正文',
      },
    },
  },
  themeConfig: {
    socialLinks: out.social,
    editLink: out.edit,
    // Not every page has a translation: the other language begins at its home page.
    i18nRouting: false,
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: { tokenize: wordsIn }, searchOptions: { boostDocument } },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                noResultsText: '没有结果',
                resetButtonTitle: '清除',
                footer: { selectText: '打开', navigateText: '移动', closeText: '关闭' },
              },
            },
          },
        },
      },
    },
  },
})

/**
 * The navigation of a language, from the tables of its list of pages.
 * @param {string} contents the list, from the root of the checkout
 */
function theme(contents) {
  const text = readFileSync(new URL(`../../${contents}`, import.meta.url), 'utf8')
  const zh = contents.includes('/zh/')
  const [, ...sections] = text.split(/^## /m)
  const groups = sections.map((section, index) => ({
    text: section.slice(0, section.indexOf('\n')),
    collapsed: index > 0,
    items: [...section.matchAll(/^\| *((?:\[[^\]]*\]\([^)]*\)(?:（英文）)?[,、 ]*)+)\|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/\[([^\]]*)\]\(([^)#]*)\)/g)])
      .map(([, name = '', link = '']) => ({ name, page: pageOf(posix.join(dirname(contents), link)) }))
      // Programs have pages of their own, and are on the list of all pages.
      .filter(({ page }) => !page.startsWith('files/'))
      .map(({ name, page }) => ({
        text: zh && !page.startsWith('zh/') ? `${name} <small>EN</small>` : name,
        link: `/${page}`,
      })),
  }))
  return {
    nav: [
      { text: zh ? '开始' : 'Start', link: zh ? '/zh/start' : '/start' },
      { text: zh ? '文档' : 'Documentation', link: zh ? '/zh/contents' : '/contents' },
      { text: version, link: out.changelog },
    ],
    sidebar: groups.filter(({ items }) => items.length > 0),
    outline: { level: [2, 3] },
  }
}

/**
 * How much a section counts in the search: the heading of a page more than one within, a heading that begins with the word
 * more than one that contains it, and pages that only list or report less than those that explain. It runs in the browser
 * too, so it stands by itself.
 * @param {string} id the address of the section
 * @param {string} term
 * @param {{ titles?: string[] }} [stored] `titles`: the headings above its own
 */
function boostDocument(id, term, stored) {
  if (/(?:changelog|contributing|contents|api|soak|features|performance|comparison)(?:\.html)?(?:#|$)/.test(id))
    return 0.3
  if (stored?.titles?.length === 0) return 1.8
  return id.includes(`#${term}`) ? 1.6 : 1
}

/**
 * The words of a text for the search, also where no spaces divide them. It runs in the browser too, so it stands by
 * itself.
 * @param {string} text
 * @returns {string[]}
 */
function wordsIn(text) {
  const pieces = text.split(/[\n\r\p{Z}\p{P}\p{S}]+/u)
  return pieces.flatMap((piece) =>
    /\p{Script=Han}/u.test(piece)
      ? [...new Intl.Segmenter('zh', { granularity: 'word' }).segment(piece)].map(({ segment }) => segment)
      : [piece],
  )
}
