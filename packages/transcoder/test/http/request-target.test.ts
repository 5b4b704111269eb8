import { describe, expect, it } from 'vitest';
import { requestTarget } from '../../src/http/request-target.js';

describe('a request target', () => {
  it.each([
    { target: '/v1/books', path: '/v1/books', query: '' },
    { target: '/v1/books?', path: '/v1/books', query: '' },
    { target: '/v1/books?a=1?b', path: '/v1/books', query: 'a=1?b' },
    { target: '//v1/books', path: '//v1/books', query: '' },
    { target: '*', path: '*', query: '' },
    { target: 'http://library.example/v1/books?a=1', path: '/v1/books', query: 'a=1' },
    { target: 'HTTPS://library.example:8443/v1', path: '/v1', query: '' },
    { target: 'http://library.example?a=1', path: '', query: 'a=1' },
    { target: 'ftp://library.example/v1', path: 'ftp://library.example/v1', query: '' },
  ])('$target has the path $path and the query $query', ({ target, path, query }) => {
    expect(requestTarget(target)).toEqual({ path, query });
  });
});
