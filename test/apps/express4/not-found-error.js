class NotFoundError extends Error {
  name = 'NotFoundError'
}

module.exports = { NotFoundError }
