export { storeContract, type OpenStores, type StoreContract } from './store-contract.ts'
