import { readFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';

const [address, set] = process.argv.slice(2);
const [host, port] = address.split(':');
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(set)));

createServer(
  connectNodeAdapter({
    routes(router) {
      router.service(registry.getService('greeter.v1.Greeter'), {
        greet({ name }) {
          if (name === 'nobody') throw new ConnectError('There is nobody.', Code.NotFound);
          return { text: `Hello ${name}` };
        },
        async *repeat({ name }) {
          for (let count = 0; count < 3; count += 1) yield { text: `Hello ${name}` };
        },
      });
    },
  }),
).listen(Number(port), host);
