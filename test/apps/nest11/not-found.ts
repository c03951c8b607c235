import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common'
import type { Response } from 'express'

export class NotFoundError extends Error {
  override name = 'NotFoundError'
}

/** Nest finds the filter of an error by `instanceof`. */
@Catch(NotFoundError)
export class NotFoundFilter implements ExceptionFilter<NotFoundError> {
  catch(error: NotFoundError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(404).json({ error: error.message })
  }
}
