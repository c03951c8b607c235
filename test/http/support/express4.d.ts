/** What Express 4 is to these tests: it has no types of its own here, and those of Express 5 fit. */
declare module 'express4' {
  import express from 'express'
  export default express
}
