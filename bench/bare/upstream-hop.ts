import { createServer } from 'node:http';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import { announce } from './announce.js';

/** The transcoder on `node:http`, in front of its own upstream, to the echo server at the address in the argument. */
const upstream = grpcUpstream(process.argv[2] ?? '', { credentials: credentials.createInsecure() });
announce(createServer(createTranscoder({ descriptorSet, upstream }).handler));
