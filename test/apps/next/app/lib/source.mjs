import http from 'node:http'

/** What the source makes of a name; it counts how often it is asked. @param {string} name @returns {Promise<string>} */
export function rendered(name) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${process.env.SOURCE_URL}/${name}`, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      if (response.statusCode === 200) resolve(text)
      else reject(new Error(`the source said ${response.statusCode}`))
    })
    request.on('error', reject)
  })
}
