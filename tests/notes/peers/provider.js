// Providers of y-websocket for the tests: one JSON request a line on stdin, one answer on stdout.
//
//   {"op": "open", "peer": p, "url": base, "note": path, "params": {}}   a document that is live
//   {"op": "type", "peer": p, "text": s}                     at the end of the text
//   {"op": "splice", "peer": p, "at": i, "remove": n, "text": s}   in UTF-16 units
//   {"op": "put", "peer": p, "map": m, "key": k, "value": v}    into a map beside the text; null: out
//   {"op": "wait", "peer": p, "for": {...}}                  until it is so -> {"text", "codes"}
//        {"text": s} the text is s        {"holds": s} the text holds s
//        {"map": m, "keys": [k]} these are the keys of a map
//        {"synced": true}                 {"final": n} it was closed with n and stays closed
//   {"op": "present", "peer": p, "state": {}}                what others are told of this one
//   {"op": "own", "peer": p}                                 -> {"client", "state"} as it sees itself
//   {"op": "others", "peer": p, "count": n}                  until n others are there -> states
//        {"state": {}}                                        until one of them has this state
//   {"op": "look", "peer": p}                                -> {"text", "codes", "tries", "wants"}
//   {"op": "close", "peer": p}
'use strict'
const readline = require('node:readline')
const WebSocket = require('ws')
const Y = require('yjs')
const { WebsocketProvider } = require('y-websocket')

const PATIENCE = 30000
const peers = new Map()

const look = ({ text, codes, tries, provider }) =>
  ({ text: text.toString(), codes, tries: tries.count, wants: provider.shouldConnect })

const until = (peer, isSo, answer) => new Promise((resolve, reject) => {
  const end = setTimeout(() => reject(new Error('waited in vain: ' + JSON.stringify(look(peer)))), PATIENCE)
  const check = () => {
    if (!isSo()) return
    clearTimeout(end)
    peer.watchers.delete(check)
    resolve(answer())
  }
  peer.watchers.add(check)
  check()
})

const operations = {
  open ({ peer, url, note, params }) {
    const doc = new Y.Doc()
    const tries = { count: 0 }
    class Counted extends WebSocket {
      constructor (...args) { super(...args); tries.count++ }
    }
    const provider = new WebsocketProvider(url, note, doc, {
      WebSocketPolyfill: Counted, params, disableBc: true, maxBackoffTime: 200
    })
    const made = { doc, provider, tries, text: doc.getText('contents'), codes: [], watchers: new Set() }
    const changed = () => { for (const check of [...made.watchers]) check() }
    provider.on('connection-close', event => { if (event) made.codes.push(event.code); changed() })
    provider.on('closed', event => { made.final = event.code; changed() })
    provider.on('sync', changed)
    provider.awareness.on('change', changed)
    doc.on('update', changed)
    peers.set(peer, made)
    return {}
  },
  type ({ peer, text }) {
    const made = peers.get(peer)
    made.text.insert(made.text.length, text)
    return {}
  },
  splice ({ peer, at, remove, text }) {
    const made = peers.get(peer)
    made.doc.transact(() => {
      if (remove) made.text.delete(at, remove)
      if (text) made.text.insert(at, text)
    })
    return {}
  },
  put ({ peer, map, key, value }) {
    const target = peers.get(peer).doc.getMap(map)
    if (value === null) target.delete(key)
    else target.set(key, value)
    return { client: peers.get(peer).doc.clientID }
  },
  wait ({ peer, for: what }) {
    const made = peers.get(peer)
    const isSo = () =>
      ('text' in what && made.text.toString() === what.text) ||
      ('holds' in what && made.text.toString().includes(what.holds)) ||
      ('keys' in what && String(Object.keys(made.doc.getMap(what.map).toJSON()).sort()) === String(what.keys)) ||
      ('synced' in what && made.provider.synced === what.synced) ||
      ('final' in what && made.final === what.final)
    return until(made, isSo, () => look(made))
  },
  present ({ peer, state }) {
    peers.get(peer).provider.awareness.setLocalState(state)
    return {}
  },
  own ({ peer }) {
    const { doc, provider } = peers.get(peer)
    return { client: doc.clientID, state: provider.awareness.getLocalState() }
  },
  others ({ peer, count, state }) {
    const made = peers.get(peer)
    const others = () => [...made.provider.awareness.getStates()]
      .filter(([client]) => client !== made.doc.clientID).map(([, state]) => state)
    const isSo = () => state === undefined
      ? others().length === count
      : others().some(one => JSON.stringify(one) === JSON.stringify(state))
    return until(made, isSo, () => ({ states: others() }))
  },
  look: ({ peer }) => look(peers.get(peer)),
  close ({ peer }) {
    peers.get(peer).provider.destroy()
    return {}
  }
}

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const request = JSON.parse(line)
  let answer
  try {
    answer = await operations[request.op](request)
  } catch (error) {
    answer = { error: String(error) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
})
