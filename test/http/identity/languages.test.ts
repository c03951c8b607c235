import { createInstance, type i18n } from 'i18next'
import { handle, koaPlugin, LanguageDetector, plugin } from 'i18next-http-middleware'
import { inExpress, inFastify, inKoa } from '../support/identity-frames.ts'
import { tellsApart, textFor } from '../support/identity.ts'
import { withCookies } from '../support/signed-in.ts'

/** The visitor that speaks each language. */
const names = { de: 'ada', fr: 'bob', en: 'nobody' }

const i18next: i18n = createInstance()
await i18next.use(LanguageDetector).init({
  preload: Object.keys(names),
  fallbackLng: 'en',
  resources: Object.fromEntries(
    Object.entries(names).map(([language, name]) => [language, { translation: { name, page: textFor(name) } }]),
  ),
})

/** The members that it adds to a context of Koa. */
interface Translating {
  readonly t: (key: string) => string
  readonly language: string
}

const byField = {
  ada: { headers: { 'accept-language': 'de' } },
  bob: { headers: { 'accept-language': 'fr' } },
  nobody: {},
}

const byCookie = {
  ada: { headers: { cookie: 'i18next=de' } },
  bob: { headers: { cookie: 'i18next=fr' } },
  nobody: {},
}

tellsApart('a translation of i18next, by Accept-Language', {
  visitors: byField,
  apps: {
    ...inExpress(
      (app) => void app.use(handle(i18next)),
      (req) => req.t('name'),
    ),
    ...inKoa(
      (app) => void app.use(koaPlugin(i18next)),
      (ctx) => (ctx as unknown as Translating).t('name'),
    ),
    ...inFastify(
      async (app) => await app.register(plugin, { i18next }),
      (request) => request.t('name'),
    ),
  },
})

tellsApart('a translation of i18next, by a cookie', {
  visitors: byCookie,
  options: withCookies,
  apps: inExpress(
    (app) => void app.use(handle(i18next)),
    (req) => req.t('name'),
  ),
})

tellsApart('the language that i18next has detected', {
  visitors: byField,
  ofUsers: {},
  apps: {
    ...inExpress(
      (app) => void app.use(handle(i18next)),
      (req) => names[req.language as keyof typeof names],
    ),
    ...inKoa(
      (app) => void app.use(koaPlugin(i18next)),
      (ctx) => names[(ctx as unknown as Translating).language as keyof typeof names],
    ),
    ...inFastify(
      (app) => void app.addHook('onRequest', handle(i18next) as never),
      (request) => names[request.language as keyof typeof names],
    ),
  },
})

tellsApart('the function that i18next hands to views', {
  visitors: byField,
  apps: inExpress(
    (app) => void app.use(handle(i18next)),
    (_req, res) => (res.locals as Translating).t('name'),
  ),
})
