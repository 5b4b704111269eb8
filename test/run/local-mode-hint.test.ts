import { describe, expect, it } from 'vitest';
import { containerOfThisProcess, localModeHint } from '../../src/run/local-mode-hint.js';

const ADDRESSES = { grpcAddress: '127.0.0.1:50051', httpUrl: 'http://127.0.0.1:8080' };

describe('the hint', () => {
  it.each([
    ['in a folder', undefined, 'TOKEN=$(npm run --silent token -- --scope'],
    ['in a container', 'c0ffee', 'TOKEN=$(docker exec c0ffee node dist/token.js --scope'],
  ])('makes a token with the program beside the service, %s', (_, container, command) => {
    expect(localModeHint(ADDRESSES, container)).toContain(`\n${command}`);
  });

  it.each(['0.0.0.0', '[::]'])('has an address to connect to for a service that listens on %s', (host) => {
    const hint = localModeHint(
      { grpcAddress: `${host}:50051`, httpUrl: `http://${host}:8080/api` },
      'c0ffee',
    );
    expect(hint).toContain(' http://localhost:8080/api/v1/routing ');
    expect(hint).toContain(' http://localhost:50051/routing.v1.RouteService/GetRoute\n');
    expect(hint).not.toContain(host);
  });

  it('of a process under npm has the commands for a folder', () => {
    expect(containerOfThisProcess({ npm_lifecycle_event: 'start' })).toBeUndefined();
  });
});
