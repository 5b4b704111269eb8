import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { requestTarget } from '../http/head.js';

/** The requests that a server answers although a browser may have sent them. */
interface Accepted {
  /** The host names, in lower case, besides `localhost`, names that end in `.localhost`, and all addresses. */
  readonly hosts: ReadonlySet<string>;
  /** The paths that pages of other sites may link to. */
  readonly linked: ReadonlySet<string>;
}

/**
 * Whether a request comes from a page of another origin, or from a page whose own host name resolves to this server (DNS
 * rebinding). Otherwise pages that a developer visits could call the server, and read its responses.
 *
 * Browsers send `Origin` with everything but plain GETs, such as those of images and links, and `Sec-Fetch-Site`
 * (W3C Fetch Metadata) with everything, though only to loopback or by HTTPS. Programs send neither.
 */
export function isForeign({ method, url, headers }: IncomingMessage, { hosts, linked }: Accepted): boolean {
  const { origin, 'sec-fetch-site': site = 'none', 'sec-fetch-dest': destination } = headers;
  // Every browser sends `Host`.
  if (headers.host === undefined) return false;

  const host = headers.host.toLowerCase();
  if (!isAccepted(host, hosts)) return true;
  // A proxy in front may speak HTTPS.
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true;

  if (site === 'none' || site === 'same-origin') return false;
  const isLink = method === 'GET' && destination === 'document';
  return !(isLink && linked.has(requestTarget({ url }).path));
}

/** Whether a `Host` cannot be that of a rebound name: an address resolves to nothing else, and `localhost` always to loopback. */
function isAccepted(host: string, hosts: ReadonlySet<string>): boolean {
  const [, bracketed, name = ''] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(host) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6;
  return isIP(name) === 4 || /^(?:.+\.)?localhost$/.test(name) || hosts.has(name);
}
