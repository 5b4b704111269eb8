import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GetRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { callRaw, framed } from '../support/http2-call.js';
import { type Service, startService, tokenFor, TOPOLOGIES } from '../support/service.js';

const GET = '/routing.v1.RouteService/GetRoute';
const UNKNOWN_ID = '019b7c1e-0e6e-7000-8000-000000000001';
/** Names of what every object of JavaScript has. */
const NAMES = ['__proto__', 'constructor', 'hasownproperty', 'tostring', 'prototype', 'valueof'];

describe.each(TOPOLOGIES)('a header with a name of JavaScript, %s,', (topology) => {
  let folder: string;
  let service: Service;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'names-'));
    service = await startService({ databaseUrl: `sqlite:${join(folder, 'routes.db')}`, topology });
  });

  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  it.each(NAMES)('such as %s, changes nothing over REST', async (name) => {
    const response = await fetch(`${service.httpUrl}/v1/routing/${UNKNOWN_ID}`, {
      headers: [
        ['authorization', `Bearer ${tokenFor()}`],
        [name, 'x'],
      ],
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { status: 'NOT_FOUND' } });
  });

  it.each(NAMES)('such as %s, changes nothing over gRPC', async (name) => {
    const headers = Object.fromEntries([
      ['authorization', `Bearer ${tokenFor()}`],
      [name, 'x'],
    ]);
    const message = framed(GetRouteRequest.encode({ routeId: UNKNOWN_ID }).finish());
    const outcome = await callRaw(service.grpcAddress, GET, headers, message);
    expect(outcome.code).toBe(status.NOT_FOUND);
  });
});
