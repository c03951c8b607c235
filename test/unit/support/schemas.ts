import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import type { Schema } from '../../../src/index.ts'

export interface Product {
  readonly id: number
  readonly name: string
}

/** The same schema in each library. Each drops what it does not know. */
export const products: readonly (readonly [library: string, schema: Schema<Product>])[] = [
  ['zod', z.object({ id: z.number(), name: z.string() })],
  ['Valibot', v.object({ id: v.number(), name: v.string() })],
  ['ArkType', type({ id: 'number', name: 'string', '+': 'delete' })],
]

/** A schema, and how often it has validated. */
export function counted<In, Out>(schema: Schema<In, Out>): { readonly schema: Schema<In, Out>; validations: number } {
  const { validate } = schema['~standard']
  const counting = {
    validations: 0,
    schema: {
      '~standard': {
        version: 1 as const,
        validate: (value: unknown) => {
          counting.validations++
          return validate(value)
        },
      },
    },
  }
  return counting
}
