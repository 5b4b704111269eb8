// A gRPC server that rejects every token. On an IPC message, it reports its memory in bytes: held now, and at the peak.
import { CallLog } from '../../dist/calls/call-log.js';
import { Admission, createPipeline } from '../../dist/calls/pipeline.js';
import { Health } from '../../dist/grpc/health.js';
import { startGrpcServer } from '../../dist/grpc/server.js';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';

const limits = JSON.parse(process.argv[2]);
/** A certificate and its key in PEM, and the times of the server; default: no TLS and the default times. */
const { pair, times = {} } = JSON.parse(process.argv[3] ?? '{}');
const health = new Health([]);
const methods = [
  {
    path: '/test.Service/Guarded',
    access: { scope: 's' },
    decode: (message) => message,
    handle: (message) => message,
  },
  ...health.methods(),
];
const { address } = await startGrpcServer({
  address: '127.0.0.1:0',
  methods,
  pipeline: createPipeline(methods, {
    ...limits,
    authenticator: { authenticate: () => ({ ok: false, reason: 'TOKEN_MISSING', message: '' }) },
    admission: new Admission(limits),
    log: new CallLog(pino({ level: 'silent' }), 'failures'),
  }),
  health,
  reflection: true,
  limits,
  times,
  tls: pair && { latest: pair, onRenewed: () => undefined },
});

let peak = process.memoryUsage().rss;
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, 10).unref();
process.on('message', async () => {
  global.gc();
  await setImmediate();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  process.send({ held: heapUsed + external, peak });
});
process.on('disconnect', () => process.exit(0));
process.send(address);
