import { type Kind, listOf, unusableValue } from './kinds.js';

const UNIX_SOCKET = /^unix:./;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/i;
/** The form that `splitAddress` accepts, for error messages. */
const ADDRESS_FORM = 'host:port, with a port up to 65535';

/** A TCP address to listen on; port 0 means any free port. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port` */
export const address: Kind<HostAndPort> = (text) => {
  const parts = splitAddress(text);
  if (parts === undefined) throw unusableValue(text, `must be ${ADDRESS_FORM}`);
  return parts;
};

/** `host:port`, or `off` for none. */
export const addressOrOff: Kind<HostAndPort | undefined> = (text) => {
  const parts = splitAddress(text);
  if (parts === undefined && text !== 'off') throw unusableValue(text, `must be ${ADDRESS_FORM}, or off`);
  return parts;
};

/** `host:port` or `unix:/path` */
export const addressOrSocket: Kind<string> = (text) => {
  if (UNIX_SOCKET.test(text) || splitAddress(text) !== undefined) return text;
  throw unusableValue(text, `must be ${ADDRESS_FORM}, or unix:/path`);
};

/** A target in a form that grpc-js can resolve (gRPC's doc/naming.md); each TCP address needs a port. */
export const target: Kind<string> = (text) => {
  const [, name] = /^dns:(?:\/\/[^/]*\/)?(.*)$/.exec(text) ?? [];
  const [, list] = /^ipv[46]:(.*)$/.exec(text) ?? [];
  const addresses = list?.split(',') ?? [name ?? text];
  if (UNIX_SOCKET.test(text) || addresses.every((item) => splitAddress(item) !== undefined)) return text;
  throw unusableValue(
    text,
    `must be ${ADDRESS_FORM}, dns:///host:port, unix:/path, or several addresses as in ipv4:10.0.0.1:50051,10.0.0.2:50051`,
  );
};

/** Whether both are the same address, and not any free port. */
export function isSameAddress(a: HostAndPort | undefined, b: HostAndPort | undefined): boolean {
  if (a === undefined || b === undefined || a.port === 0) return false;
  return a.port === b.port && a.host.toLowerCase() === b.host.toLowerCase();
}

/** The parts of `host:port`; the host may be an IPv6 address in brackets. */
export function splitAddress(text: string): HostAndPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]/]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? '', port };
}

/** Whether a host is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** `host:port`, with an IPv6 address in brackets (RFC 3986 3.2.2). */
export function joinAddress(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** `*` as the whole leftmost label, with at least two labels after it. */
const WILDCARD = /^https:\/\/\*(?=(?:\.[^.]+){2})/;

/** Origins as scheme, host, and the port unless it is the scheme's default (RFC 6454 6.2). */
export const origins = listOf((text) => {
  const example = text.replace(WILDCARD, 'https://any');
  const isUrl = /^https?:[^*]+$/.test(example) && URL.canParse(example);
  return isUrl && new URL(example).origin === example;
}, 'must be origins as browsers send them, without a path and without a final slash, such as https://app.example.com,http://localhost:3000; in https://*.example.com, * stands for one label');
