// A Yjs peer for the tests: one JSON request a line on stdin, one answer a line on stdout.
//
//   {"op": "new", "peer": p}                                      a document of its own
//   {"op": "splice", "peer": p, "at": i, "remove": n, "insert": s}   in UTF-16 units -> updates
//   {"op": "apply", "peer": p, "updates": [base64]}               what others typed
//   {"op": "state", "peer": p}                                    -> its state vector
//   {"op": "missing", "peer": p, "state": base64}                 -> the update for such a peer
//   {"op": "text", "peer": p}                                     -> its text
//   {"op": "records", "peer": p}                                  -> what is beside the text
'use strict'
const readline = require('node:readline')
const Y = require('yjs')

const peers = new Map()
const decode = text => new Uint8Array(Buffer.from(text, 'base64'))
const encode = data => Buffer.from(data).toString('base64')

const operations = {
  new ({ peer }) {
    const doc = new Y.Doc()
    const made = { doc, text: doc.getText('contents'), own: [] }
    doc.on('update', (update, origin) => { if (origin !== 'remote') made.own.push(encode(update)) })
    peers.set(peer, made)
    return {}
  },
  splice ({ peer, at, remove, insert }) {
    const { doc, text, own } = peers.get(peer)
    doc.transact(() => {
      if (remove) text.delete(at, remove)
      if (insert) text.insert(at, insert)
    })
    return { updates: own.splice(0) }
  },
  apply ({ peer, updates }) {
    for (const update of updates) Y.applyUpdate(peers.get(peer).doc, decode(update), 'remote')
    return {}
  },
  state ({ peer }) {
    return { state: encode(Y.encodeStateVector(peers.get(peer).doc)) }
  },
  missing ({ peer, state }) {
    return { update: encode(Y.encodeStateAsUpdate(peers.get(peer).doc, decode(state))) }
  },
  text ({ peer }) {
    return { text: peers.get(peer).text.toString() }
  },
  records ({ peer }) {
    return { records: peers.get(peer).doc.getMap('records').toJSON() }
  }
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  const request = JSON.parse(line)
  process.stdout.write(JSON.stringify(operations[request.op](request)) + '\n')
})
