import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Request } from './requests.js';

/** The response to a request. */
export interface Answer {
  readonly verb: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A keep-alive connection for one request after the other. Node's parser refuses what belongs to no response. */
export class Exchange {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #address: URL;

  /** @param url the base URL of the gateway */
  constructor(url: string) {
    this.#address = new URL(url);
  }

  /** Sends a request. @throws Error unless exactly one whole response comes */
  async send({ verb, target, headers, body, chunked }: Request): Promise<Answer> {
    const { hostname, port, host } = this.#address;
    const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
    const all = [...(hasHost ? [] : [['host', host] as const]), ...headers];
    if (body !== undefined)
      all.push(chunked ? ['transfer-encoding', 'chunked'] : ['content-length', `${body.length}`]);
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        agent: this.#agent,
        hostname,
        port,
        method: verb,
        path: target,
        // In pairs, as they are: their order, their case, and those that stand twice.
        headers: all.flat() as never,
        setHost: false,
      });
      request
        .on('error', reject)
        .on('response', (response) => {
          const { statusCode: status = 0 } = response;
          text(response).then((received) => {
            resolve({ verb, status, headers: response.headers, body: received });
          }, reject);
        })
        .end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
