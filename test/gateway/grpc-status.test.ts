import { constants } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { httpStatusReply, resetReply, statusReply } from '../../src/gateway/grpc-status.js';

/** UTF-8 that nobody encoded, as Node hands over the bytes of a header. */
const UNENCODED = Buffer.from('📚').toString('latin1');

describe('the status of a call in the trailers', () => {
  it.each([
    ['0', status.OK],
    ['5', status.NOT_FOUND],
    ['16', status.UNAUTHENTICATED],
    ['17', status.UNKNOWN],
    ['-1', status.UNKNOWN],
    ['05', status.UNKNOWN],
    ['', status.UNKNOWN],
    ['constructor', status.UNKNOWN],
    ['5, 5', status.UNKNOWN],
  ])('grpc-status "%s" is %i', (given, code) => {
    expect(statusReply({ 'grpc-status': given }, 200).code).toBe(code);
  });

  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['a%20b%0Ac', 'a b\nc'],
    ['%23 %2F %25', '# / %'],
    ['%F0%9F%93%9A %f0%9f%93%9a', '📚 📚'],
    ['100% %zz %4', '100% %zz %4'],
    ['%FF', '�'],
    [UNENCODED, '📚'],
    [`${UNENCODED} %25`, '📚 %'],
  ])('grpc-message "%s" reads "%s"', (given, details) => {
    expect(statusReply({ 'grpc-status': '5', 'grpc-message': given }, 200).details).toBe(details);
  });

  it('leaves all other trailers, binary ones as bytes', () => {
    const { trailers } = statusReply(
      { 'grpc-status': '5', 'grpc-message': 'm', 'x-request-id': 'one', 'x-more-bin': 'AQL/' },
      200,
    );
    expect(trailers.toJSON()).toEqual({ 'x-request-id': ['one'], 'x-more-bin': [Buffer.from([1, 2, 255])] });
  });

  it('is told by the HTTP status where there is none, and the trailers stay', () => {
    const reply = statusReply({ 'x-request-id': 'one' }, 503);
    expect(reply).toMatchObject({ code: status.UNAVAILABLE });
    expect(reply.trailers.get('x-request-id')).toEqual(['one']);
  });

  it('counts more than the HTTP status', () => {
    expect(statusReply({ 'grpc-status': '5' }, 503).code).toBe(status.NOT_FOUND);
  });
});

describe('an HTTP status without a gRPC status', () => {
  it.each([
    [200, status.UNKNOWN],
    [302, status.UNKNOWN],
    [400, status.INTERNAL],
    [401, status.UNAUTHENTICATED],
    [403, status.PERMISSION_DENIED],
    [404, status.UNIMPLEMENTED],
    [429, status.UNAVAILABLE],
    [500, status.UNKNOWN],
    [502, status.UNAVAILABLE],
    [503, status.UNAVAILABLE],
    [504, status.UNAVAILABLE],
    [undefined, status.UNKNOWN],
  ])('%s means %i', (httpStatus, code) => {
    expect(httpStatusReply(httpStatus).code).toBe(code);
  });
});

describe('a reset stream', () => {
  it.each([
    ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR, status.INTERNAL],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR, status.INTERNAL],
    ['FLOW_CONTROL_ERROR', constants.NGHTTP2_FLOW_CONTROL_ERROR, status.INTERNAL],
    ['SETTINGS_TIMEOUT', constants.NGHTTP2_SETTINGS_TIMEOUT, status.INTERNAL],
    ['FRAME_SIZE_ERROR', constants.NGHTTP2_FRAME_SIZE_ERROR, status.INTERNAL],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM, status.UNAVAILABLE],
    ['CANCEL', constants.NGHTTP2_CANCEL, status.CANCELLED],
    ['COMPRESSION_ERROR', constants.NGHTTP2_COMPRESSION_ERROR, status.INTERNAL],
    ['CONNECT_ERROR', constants.NGHTTP2_CONNECT_ERROR, status.INTERNAL],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM, status.RESOURCE_EXHAUSTED],
    ['INADEQUATE_SECURITY', constants.NGHTTP2_INADEQUATE_SECURITY, status.PERMISSION_DENIED],
    ['a code that nobody defined', 0xff, status.INTERNAL],
  ])('%s', (_, http2Code, code) => {
    expect(resetReply(http2Code).code).toBe(code);
  });
});
