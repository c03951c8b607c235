import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { AppModule } from './app.js'

async function main(): Promise<void> {
  const options = { logger: ['error', 'warn'] as ('error' | 'warn')[], abortOnError: false }
  const app =
    process.env.PLATFORM === 'fastify'
      ? await NestFactory.create(AppModule, new FastifyAdapter() as never, options)
      : await NestFactory.create(AppModule, options)
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log(`listens on ${(app.getHttpServer().address() as AddressInfo).port}`)
}
void main()
