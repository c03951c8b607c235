import type { Express } from 'express'
import { createInstance, type i18n } from 'i18next'
import { handle, koaPlugin, LanguageDetector, plugin } from 'i18next-http-middleware'
import type Koa from 'koa'
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

const onExpress = (app: Express): void => void app.use(handle(i18next))
const onKoa = (app: Koa): void => void app.use(koaPlugin(i18next))

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
    ...inExpress(onExpress, (req) => req.t('name')),
    ...inKoa(onKoa, (ctx) => (ctx as unknown as Translating).t('name')),
    ...inFastify(
      async (app) => await app.register(plugin, { i18next }),
      (request) => request.t('name'),
    ),
  },
})

tellsApart('a translation of i18next, by a cookie', {
  visitors: byCookie,
  options: withCookies,
  apps: inExpress(onExpress, (req) => req.t('name')),
})

tellsApart('the language that i18next has detected', {
  visitors: byField,
  ofUsers: {},
  apps: {
    ...inExpress(onExpress, (req) => names[req.language as keyof typeof names]),
    ...inKoa(onKoa, (ctx) => names[(ctx as unknown as Translating).language as keyof typeof names]),
    ...inFastify(
      (app) => void app.addHook('onRequest', handle(i18next) as never),
      (request) => names[request.language as keyof typeof names],
    ),
  },
})

tellsApart('the function that i18next hands to views', {
  visitors: byField,
  apps: inExpress(onExpress, (_req, res) => (res.locals as Translating).t('name')),
})
