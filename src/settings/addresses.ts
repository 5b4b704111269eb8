import type { SettingsReader } from './reader.js';

const UNIX_SOCKET = /^unix:./;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/i;
/** The form that `splitAddress` accepts, for error messages. */
export const ADDRESS_FORM = 'host:port, with a port up to 65535';

/** A TCP address to listen on; port 0 means any free port. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** Reads the address of the gRPC server; adds any problem to the reader. */
export function grpcAddressOf(settings: SettingsReader): string {
  const address = settings.text('GRPC_ADDRESS');
  if (!UNIX_SOCKET.test(address) && splitAddress(address) === undefined)
    settings.refuseValue('GRPC_ADDRESS', address, `must be ${ADDRESS_FORM}, or unix:/path`);
  return address;
}

/** Reads the address of the operators' listener, which must not be public; undefined for none. */
export function opsAddressOf(
  settings: SettingsReader,
  protocols: readonly ('GRPC_ADDRESS' | 'HTTP_ADDRESS')[],
): HostAndPort | undefined {
  const text = settings.text('OPS_ADDRESS');
  if (text === 'off') return undefined;
  const address = splitAddress(text);
  if (address === undefined) {
    settings.refuseValue('OPS_ADDRESS', text, `must be ${ADDRESS_FORM}, or off`);
    return undefined;
  }
  const protocol = protocols.find((name) => isSame(address, splitAddress(settings.text(name))));
  if (protocol !== undefined)
    settings.refuseValue('OPS_ADDRESS', text, `must differ from ${protocol}, which is public`);
  return address;
}

function isSame({ host, port }: HostAndPort, other: HostAndPort | undefined): boolean {
  return port !== 0 && port === other?.port && host.toLowerCase() === other.host.toLowerCase();
}

/** Checks that a target has a form that grpc-js can resolve (gRPC's doc/naming.md); each TCP address needs a port. */
export function checkTarget(settings: SettingsReader, target: string): void {
  const [, name] = /^dns:(?:\/\/[^/]*\/)?(.*)$/.exec(target) ?? [];
  const [, list] = /^ipv[46]:(.*)$/.exec(target) ?? [];
  const addresses = list?.split(',') ?? [name ?? target];
  if (UNIX_SOCKET.test(target) || addresses.every((each) => splitAddress(each) !== undefined)) return;
  settings.refuseValue(
    'GRPC_UPSTREAM',
    target,
    `must be ${ADDRESS_FORM}, dns:///host:port, unix:/path, or several addresses as in ipv4:10.0.0.1:50051,10.0.0.2:50051`,
  );
}

/** The parts of `host:port`; the host may be an IPv6 address in brackets. */
export function splitAddress(address: string): HostAndPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]/]+)):(\d{1,5})$/.exec(address);
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
