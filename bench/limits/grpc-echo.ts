import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { ECHO_METHOD } from './echo-method.js';

/** The limit of the gRPC face: grpc-js that hands the bytes of a message back, and does nothing else. */
const server = new Server({ 'grpc.enable_channelz': 0 });
server.addService(
  { echo: ECHO_METHOD },
  {
    echo(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
      answer(null, call.request);
    },
  },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', grpc: `127.0.0.1:${port}` })}\n`);
});
