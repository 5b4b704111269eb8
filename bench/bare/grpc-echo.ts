import { type sendUnaryData, Server, type ServerUnaryCall } from '@grpc/grpc-js';
import { announceGrpc } from './announce.js';
import { ECHO_METHOD } from './echo-method.js';

/** A grpc-js server that returns the bytes of each message and does nothing else. */
const server = new Server({ 'grpc.enable_channelz': 0 });
server.addService(
  { echo: ECHO_METHOD },
  {
    echo(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
      answer(null, call.request);
    },
  },
);
announceGrpc(server);
