import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log(`listens on ${(app.getHttpServer().address() as AddressInfo).port}`)
}
void main()
