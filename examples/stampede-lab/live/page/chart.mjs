/** The queries of the last minute as a chart. Both sides have the same scale, so that their heights can be compared. */

/* global uPlot */

const seconds = 60
const stepsPerSecond = 5

/** The greatest value of all charts, to which all are drawn. */
const scale = { most: 20 }

/** @type {Chart[]} */
const charts = []

export class Chart {
  #place
  #plot
  /** @type {[number[], (number | null)[]]} */
  #data = [[], []]

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place
    const start = Date.now() / 1_000 - seconds
    for (let step = 0; step < seconds * stepsPerSecond; step++) {
      this.#data[0].push(start + step / stepsPerSecond)
      this.#data[1].push(null)
    }
    this.#plot = this.#draw()
    charts.push(this)
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(place)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#plot.destroy()
      this.#plot = this.#draw()
    })
  }

  /** @param {number} at @param {number} queries */
  add(at, queries) {
    const [times, values] = this.#data
    times.push(at / 1_000)
    values.push(queries)
    while ((times[0] ?? 0) < at / 1_000 - seconds) {
      times.shift()
      values.shift()
    }
    const most = Math.max(20, ...charts.map((chart) => chart.most))
    scale.most = most
    this.#plot.setData(this.#data)
  }

  get most() {
    return Math.max(...this.#data[1].map((value) => value ?? 0))
  }

  #size() {
    return { width: this.#place.clientWidth, height: this.#place.clientHeight }
  }

  #draw() {
    const style = getComputedStyle(this.#place)
    const [tone = '', soft = '', line = ''] = ['--tone', '--soft', '--line'].map((name) =>
      style.getPropertyValue(name).trim(),
    )
    const axis = {
      stroke: soft,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: `12px ${style.fontFamily}`,
    }
    const now = () => Date.now() / 1_000
    /** @type {uPlot.Options} */
    const options = {
      ...this.#size(),
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { range: () => [now() - seconds, now()] }, y: { range: () => [0, scale.most * 1.1] } },
      axes: [
        {
          ...axis,
          size: 22,
          grid: { show: false },
          values: (/** @type {unknown} */ _, /** @type {number[]} */ at) =>
            at.map((time) => `${Math.round(time - now())} s`),
        },
        { ...axis, size: 38 },
      ],
      series: [{}, { stroke: tone, fill: `${tone}22`, width: 2, points: { show: false } }],
    }
    return new uPlot(options, this.#data, this.#place)
  }
}
