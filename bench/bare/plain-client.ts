import { Client, credentials } from '@grpc/grpc-js';

/** The leanest client of grpc-js, with a single channel. @param target `host:port` */
export function plainClient(target: string): Client {
  return new Client(target, credentials.createInsecure(), {
    'grpc.enable_channelz': 0,
    'grpc.enable_retries': 0,
  });
}
