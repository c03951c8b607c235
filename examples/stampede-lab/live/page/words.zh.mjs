/** The words of the page in Chinese. */

/** @param {readonly string[]} names */
const listed = (names) => names.join('、')

const protections = /** @type {Record<string, string>} */ ({
  nothing: '无保护',
  coalescing: '进程内合并',
  lock: '教程里的锁',
  herdless: 'herdless',
})

/** @type {import('./words.en.mjs').Words} */
export const zh = {
  language: 'zh-CN',
  other: { href: '?lang=en', lang: 'en', text: 'English' },

  page: {
    title: '缓存击穿实验室',
    about: '四个真实进程、一个真实 Redis、左右各一个真实数据库。两边每秒收到相同的 240 个请求。',
    titleWithout: '没有 herdless',
    titleWith: '使用 herdless',
    protection: '左侧的保护方式',
    nothing: '无保护',
    coalescing: '进程内合并',
    lock: '教程里的锁',
    herdless: 'herdless',
    queries: '次数据库查询',
    database: '数据库',
    controls: '同时干扰两边',
    groupKeys: '键',
    groupLeader: '领头进程',
    groupSource: '数据源',
    doExpire: '让键过期',
    doInvalidate: '加载途中修改',
    doFlush: '清空',
    doCrawl: '清空，一千个键',
    doKill: '加载途中杀死',
    doPause: '暂停',
    doSlow: '变慢',
    doFail: '出错',
    doRedis: '停机',
    legend:
      '一个点是一个请求。数据源：值的来处，即数据库。租约（或锁）：加载一个键的权利，画成令牌，圆环是剩余时间；持有它的是领头进程。',
    tape: '发生了什么',
    footer: '一个值存活 60 s。锁和租约为期 1 s，慢的加载要多花 1.5 s。一切都在本机运行，按 Ctrl+C 结束。',
    closingTitle: '同样的请求，同样的故障，两种结果',
    closingLine: '使用 herdless 只需一行代码：',
    again: '再看一遍',
    look: '自己试试',
  },

  link: { live: '实时', ended: '实验室已结束' },
  titleToo: '同样使用 herdless',
  keys: { home: '首页', 'top-ten': '热销', prices: '价格', product: '商品' },
  initials: { home: '首', 'top-ten': '热', prices: '价' },

  tour: {
    start: '开始导览',
    stop: '停止导览',
    idle: { title: '轮到你了', text: '按下面的按钮：两边会同时发生。也可以让导览用一分钟演示要点。' },
    acts: {
      nothing: {
        title: '热点键过期，而数据源很慢',
        text: '这就是击穿：没有保护时，在第一次加载返回之前，每个请求都去查数据库。使用 herdless：一个进程加载，其余的等待它的结果。',
      },
      coalescing: {
        title: '每个进程里每个键一个 Promise',
        text: '像许多库那样，同一进程的调用者共享一次加载。进程之间互不知晓：同一个查询执行四次。',
      },
      lock: {
        title: '常见教程里的锁',
        text: '锁为期 1 s，加载要 1.5 s：锁在持有者手中过期，下一个调用者也去加载。herdless 的租约会续期。',
      },
      kill: {
        title: '正在加载的进程被杀死',
        text: '在加载途中 kill -9。herdless 的租约在一秒内到期，等待者中的一个接着加载。',
      },
      invalidate: {
        title: '加载途中数据被修改',
        text: '旧数据正在加载时被失效。没有 herdless：旧数据被存入，并继续提供。herdless 拒绝迟到的结果。',
      },
      redisDown: {
        title: 'Redis 停机',
        text: '教程的代码等待 Redis，最后以错误告终。使用 herdless：每个进程各自加载，直到 Redis 恢复。',
      },
    },
  },

  results: {
    nothing: '键过期，数据源慢：查询次数',
    coalescing: '同上，进程内合并：查询次数',
    lock: '同上，教程里的锁：查询次数',
    kill: '加载进程被杀死：查询次数',
    invalidate: '加载途中数据被修改：过时的回答',
    redisDown: 'Redis 停机：以错误告终的请求',
  },

  since: {
    start: '自实验室启动以来',
    way: '自重新计数以来',
    expire: '自所有键过期以来',
    age: '自所有值到期以来',
    invalidate: '自“价格”在加载途中被修改以来',
    kill: '自“价格”过期、领头进程被杀死以来',
    pause: '自“价格”过期、领头进程被暂停以来',
    flush: '自 Redis 被清空以来',
    crawl: '自 Redis 被清空、一千个键被请求以来',
    failing: '自数据源出错以来',
    healed: '自数据源恢复以来',
    redisDown: '自 Redis 停机以来',
    redisUp: '自 Redis 恢复（内容为空）以来',
  },

  felt: { slowest: '请求的最长等待', errors: '个请求以错误告终', outdated: '个过时的回答', most: '同时加载的最大数量' },
  answers: ({ answered, errors, outdated, slowest }) => [
    `已回答 ${answered}`,
    `错误 ${errors}`,
    `过时 ${outdated}`,
    `最长等待 ${slowest}`,
  ],

  keeps: { values: '值', lock: '值、锁', herdless: '值、租约', down: '已停机' },
  underWay: (queries) => `数据源：当前 ${queries} 个查询`,
  perSecond: (most) => `每秒查询次数，最多 ${most}`,

  process: {
    serves: '提供服务',
    waits: '等待',
    paused: '已暂停',
    starting: '被杀死',
    loads: (key) => `加载${key}`,
    loadsKeys: (keys) => `加载 ${keys} 个键`,
    loadsMany: (loads) => `${loads} 个查询`,
  },

  now: {
    serves: '所有请求都由 Redis 回答。',
    woken: ({ parked }) => `加载已返回：${parked} 个等待的请求得到它的值。`,
    outdated: '旧数据在失效之后被存入，在到期之前一直由 Redis 提供。',
    refused: '旧数据的加载结果被拒绝。新的加载正在进行，其余请求等待它。',
    herd: ({ loads, keys }) => `请求之间互不知晓：${keys} 个键同时有 ${loads} 个查询。`,
    perProcess: ({ loads, keys, parked }) =>
      `每个进程各自加载：${keys} 个键有 ${loads} 个查询，${parked} 个请求在进程内等待。`,
    locked: ({ holders, leases, parked }) =>
      `${listed(holders)} 持有 ${leases} 个锁并加载，${parked} 个请求每 50 ms 再看一次。`,
    lockLost: ({ loads, keys }) => `锁在持有者手中过期，别的进程也去加载：${keys} 个键有 ${loads} 个查询。`,
    leased: ({ holders, leases, parked }) =>
      `${listed(holders)} 持有 ${leases} 个租约：每个键一个查询，${parked} 个请求等待结果。`,
    begun: ({ loads, parked }) => `${loads} 个查询正在进行，${parked} 个请求等待结果。`,
    unlimited: ({ loads, parked }) => `数据源没有上限：同时有 ${loads} 次加载，${parked} 个请求等待结果。`,
    limited: ({ loads, parked }) =>
      `数据源的上限是所有进程同时 20 次加载：当前 ${loads} 次，${parked} 个请求等待结果。`,
    lockOfGone: ({ gone, parked }) => `${gone} 已不在，它的锁还在：${parked} 个请求一直等到锁过期。`,
    leaseOfGone: ({ gone, parked }) => `${gone} 不再续期。租约到期后，${parked} 个等待者中的一个会去加载。`,
    waitForRedis: ({ parked }) => `Redis 没有回答。${parked} 个请求最多等它 2 s，然后以错误告终；没有人去查数据库。`,
    alone: ({ loads, parked }) =>
      `Redis 没有回答，每个进程各自加载：当前 ${loads} 个查询，由 ${parked + loads} 个请求共享。`,
    allFail: ({ loads }) => `数据源出错。每个请求都去查询，排队等待错误：当前 ${loads} 个查询。`,
    shareFailure: ({ loads, parked }) =>
      `数据源出错。每个进程对每个键同时只查询一次：当前 ${loads} 个查询，其错误交给 ${parked + loads} 个请求。`,
    inTurnFail: ({ loads, parked }) =>
      `数据源出错。每个持有锁的请求得到错误，下一个接着再试：当前 ${loads} 个查询，${parked} 个请求在排队。`,
    rememberFailure: '数据源出错。每个键每秒只查询一次：在下一次之前，所有请求都得到它的错误。',
  },

  did: {
    way: ({ value = '' }) => `左侧：${protections[value]}。重新计数。`,
    expire: () => '所有键都已过期。',
    age: () => '所有值都已存在 60 s，因此过期。',
    invalidate: () => '“价格”的旧数据正在加载时，数据被修改并失效。',
    kill: ({ shops = [] }) => `加载途中被杀死：${listed(shops)}。新的进程正在取代它。`,
    pause: ({ shops = [] }) => `加载途中暂停 3 s：${listed(shops)}。`,
    slow: () => '现在一次加载要多花 1.5 s。让键过期就能看到。',
    fast: () => '数据源恢复了速度。',
    failing: () => '现在每个查询都会出错，所有键都已过期。',
    healed: () => '查询恢复正常。',
    redisDown: () => 'Redis 已停机。',
    redisUp: () => 'Redis 已恢复，内容为空。',
    flush: () => 'Redis 中的值、租约和锁都已删除。',
    crawl: () => 'Redis 已清空，一千个键同时被请求，每个键一个请求。',
  },
  soon: {
    invalidate: '“价格”过期；它的加载途中，数据将被修改。',
    kill: '“价格”过期；加载它的进程将被杀死。',
    pause: '“价格”过期；加载它的进程将被暂停。',
  },

  tape: {
    sides: { without: '左侧', with: '右侧' },
    load: (shop, key) => `${shop} 加载${key}`,
    loads: (key, times) => `${key}被加载 ${times} 次`,
    renewed: (key, times) => `${key}的租约续期${times > 1 ? ` ${times} 次` : ''}`,
    cost: ({ queries, most, errors, outdated, slowest }) =>
      `${queries} 次查询，同时最多 ${most} 次，${errors} 个错误，${outdated} 个过时的回答，最长等待 ${slowest}`,
    trouble: (message) => `没有成功：${message}。`,
  },
  noAnswer: '实验室没有回答。',
}
