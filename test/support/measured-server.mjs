// A gRPC server that rejects every token. On an IPC message, it collects garbage in the same turn, and answers.
import { CallLog } from '../../dist/calls/call-log.js';
import { createPipeline, createSteps } from '../../dist/calls/pipeline.js';
import { Health } from '../../dist/grpc/health.js';
import { startGrpcServer } from '../../dist/grpc/server.js';
import { pino } from 'pino';

const limits = JSON.parse(process.argv[2]);
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
const steps = createSteps({
  ...limits,
  authenticator: { authenticate: () => ({ ok: false, reason: 'TOKEN_MISSING', message: '' }) },
  log: new CallLog(pino({ level: 'silent' }), 'failures'),
});
const { address } = await startGrpcServer({
  address: '127.0.0.1:0',
  methods,
  pipeline: createPipeline(methods, steps),
  health,
  reflection: true,
  limits,
});

process.on('message', () => {
  global.gc();
  process.send('collected');
});
process.on('disconnect', () => process.exit(0));
process.send(address);
