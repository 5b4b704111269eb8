import {
  createTranscoder,
  type RenamedHeader,
  type Transcoder,
  type TranscoderOptions,
  type UnfitValue,
} from '@route-registry/transcoder';

/** A transcoder for clients of grpc-gateway, with their headers for metadata of requests and responses. */
export function withGatewayHeaders(options: TranscoderOptions): Transcoder {
  return createTranscoder({
    ...options,
    lenient: true,
    forwardedHeaders: new Map<string, UnfitValue | RenamedHeader>([
      ['authorization', 'mask'],
      ['grpc-metadata-*', 'drop'],
      ['user-agent', { unfit: 'drop', metadata: 'grpcgateway-user-agent' }],
    ]),
    responseHeaders: new Map([['*', 'Grpc-Metadata-*']]),
  });
}
