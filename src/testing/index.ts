export { lockContract, type LockContract, type OpenLocks } from './lock-contract.ts'
export { storeContract, type OpenStores, type StoreContract } from './store-contract.ts'
