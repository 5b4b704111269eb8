import { createServer } from 'node:http';
import { Metadata, status } from '@grpc/grpc-js';
import { createTranscoder, type UnaryReply, type Upstream } from '@route-registry/transcoder';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { announce } from './announce.js';
import { ECHO_METHOD } from './echo-method.js';
import { plainClient } from './plain-client.js';

/**
 * The transcoder on `node:http`, in front of the plainest upstream: a grpc-js client that makes each call, without a
 * deadline, to the echo server at the address in the argument.
 */
const client = plainClient(process.argv[2] ?? '');
const { requestSerialize, responseDeserialize } = ECHO_METHOD;
const upstream: Upstream = {
  unary: ({ path, message, metadata: entries }) =>
    new Promise<UnaryReply>((resolve) => {
      const metadata = new Metadata();
      for (const [key, value] of entries) metadata.set(key, value);
      const sent = Buffer.from(message);
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, sent, metadata, (error, reply) => {
        if (error === null) resolve({ code: status.OK, details: '', answered: true, message: reply });
        else resolve({ code: error.code, details: error.details, answered: true });
      });
    }),
};
announce(createServer(createTranscoder({ descriptorSet, upstream }).handler));
