/** The types of Nest that are used here: the checkout is compiled without Nest. */
declare module '@nestjs/common' {
  export function Inject(token: unknown): (target: object, key: string | symbol | undefined, index?: number) => void
  export function SetMetadata(key: string, value: unknown): ClassDecorator & MethodDecorator
}

declare module '@nestjs/core' {
  /** A provider or a controller. */
  interface InstanceWrapper {
    readonly name: string
    readonly metatype?: { readonly prototype?: object } | null
    readonly instance?: unknown
    /** Whether there is one instance for all requests. */
    isDependencyTreeStatic(): boolean
  }
  type Instances = ReadonlyMap<unknown, InstanceWrapper>
  export class ModulesContainer extends Map<
    string,
    Readonly<Record<'providers' | 'controllers' | 'injectables', Instances>>
  > {}
}

/** Of reflect-metadata, which Nest loads. */
declare namespace Reflect {
  function getMetadata(key: string, target: object): unknown
  function getMetadataKeys(target: object): string[]
  function defineMetadata(key: string, value: unknown, target: object): void
}
