/** Express 4 under the name that it is installed by. What the tests use of it has the types of Express 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
