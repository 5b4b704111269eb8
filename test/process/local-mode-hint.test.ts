import { describe, expect, it } from 'vitest';
import { localModeHint, type Place, placeOfThisProcess } from '../../src/process/local-mode-hint.js';

const ADDRESSES = { grpcAddress: '127.0.0.1:50051', httpUrl: 'http://127.0.0.1:8080', tls: undefined };
const CONTAINER: Place = { kind: 'container', name: 'c0ffee' };

describe('the hint', () => {
  it.each<[string, Place, string]>([
    ['under npm', { kind: 'folder', npm: true }, 'TOKEN=$(npm run --silent token -- --scope'],
    ['without npm', { kind: 'folder', npm: false }, 'TOKEN=$(node dist/token.js --scope'],
    ['in a container', CONTAINER, 'TOKEN=$(docker exec c0ffee node dist/token.js --scope'],
  ])('makes a token with the program beside the service, %s', (_, place, command) => {
    expect(localModeHint(ADDRESSES, place)).toContain(`\n${command}`);
  });

  it.each(['0.0.0.0', '[::]'])('has an address to connect to for a service that listens on %s', (host) => {
    const addresses = { grpcAddress: `${host}:50051`, httpUrl: `http://${host}:8080/api`, tls: undefined };
    const hint = localModeHint(addresses, CONTAINER);
    expect(hint).toContain(' http://localhost:8080/api/v1/routing ');
    expect(hint).toContain(' http://localhost:50051/routing.v1.RouteService/GetRoute\n');
    expect(hint).not.toContain(host);
  });

  it('of a process under npm has the commands for a folder', () => {
    expect(placeOfThisProcess({ npm_lifecycle_event: 'start' })).toEqual({ kind: 'folder', npm: true });
  });
});
