import { credentials, makeClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';
import { descriptorSet } from '../../src/gen/descriptor-set.js';

/** A `ServerReflectionResponse`, as proto-loader reads it. */
export interface ReflectionAnswer {
  readonly original_request: object;
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
  readonly file_descriptor_response?: { readonly file_descriptor_proto: Buffer[] };
  readonly error_response?: { readonly error_code: number; readonly error_message: string };
}

/**
 * Sends reflection requests in one stream, and returns the responses once the server has ended the call with OK.
 *
 * @param version of the protocol: `v1` or `v1alpha`
 */
export async function reflectionOf(
  address: string,
  version: string,
  ...requests: object[]
): Promise<ReflectionAnswer[]> {
  const definitions = loadFileDescriptorSetFromBuffer(Buffer.from(descriptorSet), { defaults: false });
  const service = `grpc.reflection.${version}.ServerReflection`;
  const Client = makeClientConstructor(definitions[service] as ServiceDefinition, service);
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => {
    client.close();
  });
  const stream = (client['ServerReflectionInfo'] as () => NodeJS.ReadWriteStream).call(client);
  for (const request of requests) stream.write(request as unknown as string);
  stream.end();
  const answers: ReflectionAnswer[] = [];
  for await (const answer of stream as unknown as AsyncIterable<ReflectionAnswer>) answers.push(answer);
  return answers;
}
