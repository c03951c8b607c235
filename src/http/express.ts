export {
  createServer,
  messageClasses,
  type ExpressApp,
  type ExpressServerOptions,
  type MessageClasses,
} from './express-server.ts'
