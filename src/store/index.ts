export type { Diagnosis } from '../core/errors.ts'
export type { PermitAnswer, PermitReport, Permits, Urgency } from '../core/contract/permits.ts'
export type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  Inspection,
  Invalidation,
  Lease,
  LeaseName,
  NewValue,
  Outcome,
  Renewed,
  Seen,
  SeenLease,
  Store,
  StoreUser,
  TrackedCopies,
  Validators,
  Wait,
  Watch,
} from '../core/contract/store.ts'
export type { FleetMode } from '../core/contract/mode.ts'
