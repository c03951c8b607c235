module.exports = { testEnvironment: 'node', testMatch: ['**/*.jest.js'] }
