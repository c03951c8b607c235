/** The heads of the two home pages, before the documents that follow them. @type {Record<string, string>} */
export const homes = {
  'README.md': `---
sidebar: false
aside: false
pageClass: home
title: herdless
titleTemplate: One load for the whole fleet
hero:
  name: herdless
  text: One load for the whole fleet
  tagline: A read-through cache for Node.js on Redis. When a hot key is missing or expires, one caller loads it, and every other caller in every process is given that answer.
  actions:
    - { theme: brand, text: Start in five minutes, link: /start }
    - { theme: alt, text: Do you need this?, link: /do-you-need-this }
features:
  - title: A hot key expires
    details: Every caller in every process misses at once, and all of them query the database. One of them does with herdless.
    link: /hot-key
  - title: Keys that do not exist
    details: Nothing is stored for them, so every request reaches the database. Absences are cached, and a filter knows the keys that exist.
    link: /penetration
  - title: Many keys expire at once
    details: A restart or a shared expiry time empties the cache. Jitter, warm-up, stale values and limits keep the load on the source low.
    link: /avalanche
---

`,
  'README.zh-CN.md': `---
sidebar: false
aside: false
pageClass: home
title: herdless
titleTemplate: 整个集群，只回源一次
hero:
  name: herdless
  text: 整个集群，只回源一次
  tagline: 基于 Redis 的 Node.js read-through 缓存。热点 key 缺失或过期时，只有一个调用方回源，所有进程里的其他调用方共享这一次的结果。
  actions:
    - { theme: brand, text: 五分钟上手, link: /zh/start }
    - { theme: alt, text: 全部文档, link: /zh/contents }
features:
  - title: 缓存击穿
    details: 热点 key 过期的瞬间，所有进程的请求同时打到数据库。用 herdless，只放行一个。
    link: /zh/hot-key
  - title: 缓存穿透
    details: 数据源里没有的 key，缓存永远不会命中，请求全部打到数据库。herdless 会缓存“不存在”这一结果，还可以用布隆过滤器提前拦截。
    link: /zh/penetration
  - title: 缓存雪崩
    details: 大量 key 同时过期，或者 Redis 重启后空了。抖动、预热、过期值兜底和并发上限，让数据源的压力保持平稳。
    link: /zh/avalanche
---

`,
}
