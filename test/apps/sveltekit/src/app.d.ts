declare global {
  namespace App {
    interface Locals {
      user: string | null
    }
  }
}

export {}
