import { describe, expect, it } from 'vitest';
import { serverOf } from '../../../src/watch/tracing/spans.js';

describe('the server of the target', () => {
  it.each([
    ['127.0.0.1:50051', '127.0.0.1', 50051],
    ['routes.example:50051', 'routes.example', 50051],
    ['[::1]:50051', '::1', 50051],
    ['dns:routes.example:50051', 'routes.example', 50051],
    ['dns:///routes.example:50051', 'routes.example', 50051],
    ['dns://10.0.0.1/routes.example:50051', 'routes.example', 50051],
  ])('%s is %s with the port %i', (target, address, port) => {
    expect(serverOf(target)).toEqual({ 'server.address': address, 'server.port': port });
  });

  it.each(['unix:/run/routes.sock', 'ipv4:10.0.0.1:50051,10.0.0.2:50051'])(
    '%s, which is not a single host, is the target itself',
    (target) => {
      expect(serverOf(target)).toEqual({ 'server.address': target });
    },
  );
});
