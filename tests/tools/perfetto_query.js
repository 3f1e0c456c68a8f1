// SPDX-License-Identifier: Apache-2.0
// Asks Perfetto's own trace processor, as its web page brings it:
//
//     node perfetto_query.js FOLDER TRACE SQL...
//
// FOLDER has engine_bundle.js and trace_processor.wasm. Prints a JSON list with the rows of every query. The page talks to its
// worker by messages of TraceProcessorRpcStream (protos/perfetto/trace_processor/trace_processor.proto); the few of its fields
// that are needed are put together here.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;              // TraceProcessorMethod
const NULL_CELL = 1, INT = 2, FLOAT = 3, STRING = 4;    // QueryResult.CellsBatch.CellType

// ---- protocol buffers ---------------------------------------------------------------------------------------------------

function varint(n) {
  const out = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  out.push(Number(n));
  return Buffer.from(out);
}

const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);

function block(field, data) {
  data = Buffer.from(data);
  return Buffer.concat([varint(field << 3 | 2), varint(data.length), data]);
}

function takeVarint(c) {
  let n = 0n;
  for (let shift = 0n;; shift += 7n) {
    const b = c.data[c.at++];
    n |= BigInt(b & 127) << shift;
    if (b < 128) return n;
  }
}

// A message as a list of [field, value]: numbers as BigInt, everything else as bytes.
function fields(data) {
  const c = { data, at: 0 }, out = [];
  while (c.at < data.length) {
    const key = Number(takeVarint(c)), kind = key & 7;
    const n = kind === 0 ? 0 : kind === 1 ? 8 : kind === 5 ? 4 : Number(takeVarint(c));
    out.push([key >> 3, kind === 0 ? takeVarint(c) : data.subarray(c.at, c.at += n)]);
  }
  return out;
}

const all = (message, field) => message.filter(([f]) => f === field).map(([, v]) => v);

function packed(list) {
  const out = [];
  for (const part of list) {
    if (typeof part === 'bigint') { out.push(part); continue; }
    for (const c = { data: part, at: 0 }; c.at < part.length;) out.push(takeVarint(c));
  }
  return out;
}

// ---- rows ---------------------------------------------------------------------------------------------------------------

function addRows(result, batch) {
  const ints = packed(all(batch, 2)).map((n) => Number(BigInt.asIntN(64, n)));
  const floats = all(batch, 3).flatMap((b) => Array.from({ length: b.length / 8 }, (_, i) => b.readDoubleLE(8 * i)));
  const texts = all(batch, 5).flatMap((b) => b.toString().split('\0'));
  for (const kind of packed(all(batch, 1)).map(Number)) {
    const cell = kind === INT ? ints.shift() : kind === FLOAT ? floats.shift() : kind === STRING ? texts.shift() : null;
    if (kind > STRING && kind !== NULL_CELL) throw new Error('a cell of kind ' + kind);
    result.cells.push(cell);
  }
}

// ---- the worker ---------------------------------------------------------------------------------------------------------

function startWorker(reply) {
  const port = { postMessage: (bytes) => reply(Buffer.from(bytes)) };
  const self = { location: { href: 'http://localhost/' }, importScripts: () => {} };
  const file = (url) => fs.readFileSync(path.join(folder, path.basename(url.toString())));
  const world = { self, WorkerGlobalScope: function() {}, location: self.location, importScripts: self.importScripts, console: { log() {}, warn() {}, error() {} },
    setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, performance, crypto: globalThis.crypto,
    XMLHttpRequest: class { open(_, url) { this.url = url; } send() { this.response = file(this.url); } },
    fetch: async (url) => ({ ok: true, status: 200, headers: new Map(), arrayBuffer: async () => { const b = file(url); return b.buffer.slice(b.byteOffset, b.byteOffset + b.length); } }) };
  world.globalThis = world;
  const context = vm.createContext(world);
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
  self.onmessage({ data: port });
  return (message) => port.onmessage({ data: vm.runInContext('(b) => new Uint8Array(b)', context)(block(1, message)) });
}

async function main() {
  const results = queries.map(() => ({ columns: [], cells: [] }));
  let asked = -1, finish;
  const done = new Promise((resolve) => { finish = resolve; });
  let pending = Buffer.alloc(0);
  const send = startWorker((bytes) => {
    pending = Buffer.concat([pending, bytes]);
    for (const [, message] of fields(pending)) {
      const m = fields(message), fatal = all(m, 5);
      if (fatal.length) throw new Error(fatal[0].toString());
      for (const answer of all(m, 203)) {
        const q = fields(answer), error = all(q, 2).map(String).join('');
        if (error) throw new Error(queries[asked] + ': ' + error);
        results[asked].columns.push(...all(q, 1).map(String));
        for (const batch of all(q, 3)) addRows(results[asked], fields(batch));
      }
    }
    pending = Buffer.alloc(0);
  });
  await new Promise((resolve) => setImmediate(resolve));  // the module is there, and is initialised as soon as it may
  send(Buffer.concat([number(1, 1), number(2, APPEND), block(101, fs.readFileSync(trace))]));
  send(Buffer.concat([number(1, 2), number(2, FINALIZE)]));
  queries.forEach((sql, i) => { asked = i; send(Buffer.concat([number(1, 3 + i), number(2, QUERY), block(103, block(1, sql))])); });
  finish();
  await done;
  console.log(JSON.stringify(results.map(({ columns, cells }) =>
    Array.from({ length: columns.length ? cells.length / columns.length : 0 }, (_, r) =>
      Object.fromEntries(columns.map((name, k) => [name, cells[r * columns.length + k]]))))));
}

const stop = (e) => { console.error(String(e.message).slice(0, 400)); process.exit(1); };
process.on('uncaughtException', stop);
main().then(() => process.exit(0), stop);
