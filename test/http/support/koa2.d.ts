/** What Koa 2 is to these tests: it has no types of its own here, and those of Koa 3 fit. */
declare module 'koa2' {
  import Koa from 'koa'
  export default Koa
}
