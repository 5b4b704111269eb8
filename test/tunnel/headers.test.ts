import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { toHeaders, toMetadata } from '../../src/tunnel/headers.js';

describe('metadata in a tunnel', () => {
  it('is a header for each value, binary ones in base64', () => {
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer x');
    metadata.add('many', 'one, and');
    metadata.add('many', 'another');
    metadata.set('some-bin', Buffer.from([0, 255]));
    const headers = toHeaders(metadata);
    expect(headers).toEqual([
      { name: 'authorization', value: 'Bearer x' },
      { name: 'many', value: 'one, and' },
      { name: 'many', value: 'another' },
      { name: 'some-bin', value: 'AP8=' },
    ]);
    expect(toMetadata(headers).toJSON()).toEqual(metadata.toJSON());
  });

  it.each([
    ['a name that is none', { name: 'a b', value: 'x' }],
    ['a value that is none', { name: 'a', value: 'x\n' }],
  ])('can not be made from %s', (_, header) => {
    expect(() => toMetadata([header])).toThrow('illegal characters');
  });
});
