import { request as send, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { request as sendSecurely } from 'node:https';
import { connect } from 'node:net';
import type { JsonObject } from '@bufbuild/protobuf';
import type { FieldViolation } from '../../src/failures/failure.js';
import { wrongField } from './refusal.js';

/** A request as sent over the wire: the path is not normalised. */
export interface HttpRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** A response with its whole body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * Sends one request on a separate connection.
 *
 * @param ca the certificate of the CA to trust. If given, the connection uses TLS.
 */
export function httpRequest(
  origin: string,
  { method = 'GET', path, headers = {}, body }: HttpRequest,
  ca?: Buffer,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    // Node does not frame the body of a DELETE unless a header says how.
    const length =
      body === undefined || 'transfer-encoding' in headers
        ? {}
        : { 'content-length': Buffer.byteLength(body) };
    const framed = { ...headers, ...length };
    const options = { hostname, port, method, path, headers: framed, agent: false } as const;
    const request = (ca === undefined ? send : sendSecurely)({ ...options, ca }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Writes bytes to a server and reads until it closes the connection. */
export function rawExchange(origin: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
  });
}

/** The error in a response. */
interface ShownError {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly details: readonly JsonObject[];
}

/** The `error` of a response's body. */
export function errorOf(response: Pick<HttpResponse, 'text'>): ShownError {
  return (JSON.parse(response.text) as { error: ShownError }).error;
}

/** The reason of the error in a response. */
export function reasonOf(response: Pick<HttpResponse, 'text'>): unknown {
  return errorOf(response).details.find(
    ({ '@type': type }) => type === 'type.googleapis.com/google.rpc.ErrorInfo',
  )?.['reason'];
}

/** The fields that the error in a response names as invalid. */
export function fieldsOf(response: Pick<HttpResponse, 'text'>): unknown[] {
  const detail = errorOf(response).details.find(
    ({ '@type': type }) => type === 'type.googleapis.com/google.rpc.BadRequest',
  );
  return ((detail?.['fieldViolations'] ?? []) as (JsonObject & FieldViolation)[]).map(wrongField);
}
