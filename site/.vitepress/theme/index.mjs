import { useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h, nextTick, onMounted, watch } from 'vue'
import './style.css'

/** In a group that folds, VitePress puts a button into a button: the arrow becomes a picture again. */
function mendArrows() {
  for (const arrow of document.querySelectorAll('.VPSidebarItem > .item[role=button] > .caret')) {
    for (const name of ['role', 'tabindex', 'aria-label']) arrow.removeAttribute(name)
  }
}

/** @type {import('vitepress').Theme} */
export default {
  extends: DefaultTheme,
  Layout: {
    setup() {
      const route = useRoute()
      onMounted(mendArrows)
      watch(
        () => route.path,
        () => nextTick(mendArrows),
      )
      return () => h(DefaultTheme.Layout)
    },
  },
}
