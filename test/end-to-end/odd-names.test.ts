import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { callRaw, framed } from '../support/http2-call.js';
import { runningService } from '../support/running-service.js';
import { tokenFor, TOPOLOGIES } from '../support/service.js';

const GET = '/routing.v1.RouteService/GetRoute';
const ABSENT = 'absent';
/** A GetRouteRequest whose field 1 is a string of 6 bytes. */
const REQUEST = framed(Buffer.from(`\n\u0006${ABSENT}`));
/** Property names that every JavaScript object has. */
const NAMES = ['__proto__', 'constructor', 'hasownproperty', 'tostring', 'prototype', 'valueof'];

it.each(TOPOLOGIES)(
  'a header named like a property of JavaScript objects changes nothing over either protocol, gateway %s',
  async (topology) => {
    const { httpUrl, grpcAddress } = await runningService({ topology });
    const authorization = `Bearer ${tokenFor()}`;
    for (const name of NAMES) {
      const headers: [string, string][] = [
        ['authorization', authorization],
        [name, 'x'],
      ];
      const response = await fetch(`${httpUrl}/v1/routing/${ABSENT}`, { headers });
      expect([name, response.status]).toEqual([name, 404]);
      expect(await response.json()).toMatchObject({ error: { status: 'NOT_FOUND' } });
      const { code } = await callRaw(grpcAddress, GET, Object.fromEntries(headers), REQUEST);
      expect([name, code]).toEqual([name, status.NOT_FOUND]);
    }
  },
);
