import { readFileSync } from 'node:fs';
import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { createServer, ServerError, Status } from 'nice-grpc';
import { ServerReflection, ServerReflectionService } from 'nice-grpc-server-reflection';

const [address, set] = process.argv.slice(2);
const descriptors = readFileSync(set);
const { greeter } = loadPackageDefinition(loadFileDescriptorSetFromBuffer(descriptors));

const server = createServer();
server.add(greeter.v1.Greeter.service, {
  async Greet({ name }) {
    if (name === 'nobody') throw new ServerError(Status.NOT_FOUND, 'There is nobody.');
    return { text: `Hello ${name}` };
  },
  async *Repeat({ name }) {
    for (let count = 0; count < 3; count += 1) yield { text: `Hello ${name}` };
  },
  async Wave({ name }) {
    return { text: `Wave ${name}` };
  },
  async *Applaud() {},
  async *Chat() {},
});
server.add(ServerReflectionService, ServerReflection(descriptors, ['greeter.v1.Greeter']));
await server.listen(address);
