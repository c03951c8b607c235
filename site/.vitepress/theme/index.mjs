import { useData } from 'vitepress'
import DefaultTheme, { VPHomeFeatures, VPHomeHero } from 'vitepress/theme'
import { h } from 'vue'
import './style.css'

/** The head of a home page, from its front matter. The home layout of VitePress would have no landmarks. */
const Head = {
  setup() {
    const { frontmatter } = useData()
    return () =>
      frontmatter.value.hero &&
      h('section', { 'aria-label': frontmatter.value.title }, [h(VPHomeHero), h(VPHomeFeatures)])
  },
}

/** @type {import('vitepress').Theme} */
export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-before': () => h(Head) }),
}
