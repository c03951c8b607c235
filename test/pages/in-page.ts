/// <reference lib="dom" />
/** What the tests let a page itself do: each function runs there, and finds nothing but what it declares. */

/** Runs before the page does: keeps what moves in it, and what it hears of the lab. */
export function watchPage(): void {
  const kept = globalThis as unknown as { shifts: unknown[]; streams: EventSource[] }
  kept.shifts = []
  kept.streams = []
  new PerformanceObserver((list) => {
    for (const { sources } of list.getEntries() as unknown as { sources: { node: Node | null }[] }[]) {
      kept.shifts.push(sources.map(({ node }) => (node instanceof Element ? node.outerHTML : node?.textContent)))
    }
  }).observe({ type: 'layout-shift' as 'mark', buffered: true })
  globalThis.EventSource = class extends EventSource {
    constructor(url: string | URL) {
      super(url)
      kept.streams.push(this)
    }
  }
}

/** How often a canvas is drawn within some frames. */
export async function framesThatDraw(frames: number): Promise<number> {
  let drawn = 0
  for (const canvas of document.querySelectorAll('canvas')) {
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('A canvas cannot be drawn on')
    const { beginPath } = Object.getPrototypeOf(context) as { beginPath: (this: unknown) => void }
    context.beginPath = () => {
      drawn++
      beginPath.call(context)
    }
  }
  for (let frame = 0; frame < frames; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
  return drawn
}

/** Where some elements end, from the top of the window. */
export function bottomsOf(selector: string): number[] {
  return [...document.querySelectorAll(selector)].map((element) => Math.round(element.getBoundingClientRect().bottom))
}

/** What is to be touched, and smaller than that. */
export function smallTargets(least: number): string[] {
  return [...document.querySelectorAll('button, label, a')]
    .map((element) => ({ text: element.textContent.trim(), box: element.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < least)
    .map(({ text, box }) => `${text}: ${box.width} × ${box.height}`)
}
