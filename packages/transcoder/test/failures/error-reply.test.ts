import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack, AnySchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.js';
import type { UnaryReply } from '../../src/upstream.js';
import { errorOf, httpRequest, type HttpResponse } from '../support/http-request.js';
import { messageType } from '../support/library-contract.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder, type RunningTranscoder } from '../support/library-transcoder.js';

const TYPE = 'type.googleapis.com/nobody.Knows';
const unknown = (typeUrl = TYPE): Any => create(AnySchema, { typeUrl, value: new Uint8Array([1, 2, 3]) });
const info = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: 'KNOWN', domain: 'library.v1' }));

const start = (
  unary: () => UnaryReply,
  onUnknownType: (typeUrl: string) => void = () => undefined,
): Promise<RunningTranscoder> => openTranscoder({ upstream: { unary }, onUnknownType });

const get = ({ origin }: RunningTranscoder): Promise<HttpResponse> =>
  httpRequest(origin, { path: '/v1/echo', headers: { authorization: MEMBER } });

/** A failure with a `google.rpc.Status`, whose `grpc-message` is another text. */
function failure(status: MessageInitShape<typeof StatusSchema>): UnaryReply {
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code: Code.NOT_FOUND, ...status }));
  return { code: Code.NOT_FOUND, details: 'a%2Fb', answered: true, trailers: { get: () => [bytes] } };
}

const unknownTypesIn = ({ log }: RunningTranscoder): unknown[] =>
  log.filter(({ message }) => message.startsWith('type unknown')).map(({ level, fields }) => [level, fields]);

describe('a detail of an unknown type', () => {
  it('is its bytes in base64, beside the details that are known', async () => {
    const gateway = await start(() => failure({ details: [unknown(), info] }));
    expect(errorOf(await get(gateway))).toMatchObject({
      code: 404,
      details: [{ '@type': TYPE, value: 'AQID' }, { reason: 'KNOWN' }],
    });
  });

  it('is logged once for its type, cut, and reported whole, for at most 100 types', async () => {
    const types = Array.from({ length: 200 }, (_, n) => `${TYPE}${n}${'x'.repeat(1_000)}`);
    const reported: string[] = [];
    const gateway = await start(
      () => failure({ details: types.map((typeUrl) => unknown(typeUrl)) }),
      (typeUrl) => reported.push(typeUrl),
    );
    await get(gateway);
    await get(gateway);
    const logged = types.slice(0, 100).map((type) => ['warn', { type: type.slice(0, 128) }]);
    expect(unknownTypesIn(gateway)).toEqual(logged);
    expect(reported).toEqual(types.slice(0, 100));
  });
});

describe('an Any of an unknown type in a reply', () => {
  it('is logged and reported', async () => {
    const schema = messageType('Everything');
    const message = toBinary(schema, create(schema, { any: unknown() }));
    const reported: string[] = [];
    const gateway = await start(
      () => ({ code: Code.OK, details: '', answered: true, message }),
      (typeUrl) => reported.push(typeUrl),
    );
    await get(gateway);
    expect(unknownTypesIn(gateway)).toEqual([['warn', { type: TYPE }]]);
    expect(reported).toEqual([TYPE]);
  });
});

describe('the text of a failure', () => {
  it('is that of the status in its details, which arrives as it was sent', async () => {
    const gateway = await start(() => failure({ message: 'a%2Fb e', details: [info] }));
    expect(errorOf(await get(gateway))).toMatchObject({ message: 'a%2Fb e', details: [{ reason: 'KNOWN' }] });
  });

  it('is that of the call where the status has none', async () => {
    const gateway = await start(() => failure({ details: [info] }));
    expect(errorOf(await get(gateway))).toMatchObject({ message: 'a%2Fb' });
  });

  it('names the bound of a reply that is too large, and no host', async () => {
    const clientMessage = 'The reply is larger than 1000 bytes, the maximum.';
    const reply = { code: Code.INTERNAL, details: 'from 10.0.0.1', answered: false, clientMessage };
    const response = await get(await start(() => reply));
    expect(errorOf(response)).toMatchObject({ code: 500, message: clientMessage });
    expect(response.text).not.toContain('10.0.0.1');
  });
});
