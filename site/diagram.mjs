/** Diagrams of Mermaid as pictures that fit light and dark, drawn without a browser. */

/**
 * @param {string} source in the language of Mermaid
 * @returns {Promise<{ picture: string, words: string }>} an SVG, and what it shows as text
 */
export async function diagramOf(source) {
  // The packages of the site are not there before it is built for the first time.
  const library = new URL('node_modules/beautiful-mermaid/dist/index.js', import.meta.url).href
  /** @type {{ renderMermaidSVG: (source: string, options: object) => string }} */
  const { renderMermaidSVG } = await import(library)
  const colours = { bg: '#fffffe', fg: '#1c1b19', muted: '#4a4741' }
  const picture = renderMermaidSVG(source, { ...colours, font: 'system-ui', padding: 24 })
    .replace(/\s*@import url\([^)]*\);/, '')
    // The names of colours are set where the browser can change them.
    .replace(/ style="--bg:[^"]*"/, '')
    .replace(
      '<style>',
      `<style>
  svg { --bg: #fff; --fg: #1c1b19; --muted: #4a4741 }
  @media (prefers-color-scheme: dark) { svg { --bg: #1e1d1b; --fg: #f1efea; --muted: #c9c5bc } }`,
    )
  const names = new Map([...source.matchAll(/participant (\w+) as (.*)/g)].map(([, id = '', name = '']) => [id, name]))
  const steps = [...source.matchAll(/^ *(\w+)-+>+(\w+): (.*)$/gm)].map(
    ([, from = '', to = '', what]) => `${names.get(from)} to ${names.get(to)}: ${what}`,
  )
  return { picture, words: steps.join('; ').replaceAll(/[[\]]/g, '') }
}
