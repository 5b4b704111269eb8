import { readFileSync } from 'node:fs';

/** Every setting, as an environment variable, with its default; `undefined` for none. */
export const SETTINGS = {
  ROLE: 'all',
  DATABASE_URL: 'sqlite:data/routes.db',
  DATABASE_URL_FILE: undefined,
  GRPC_ADDRESS: '127.0.0.1:50051',
  HTTP_ADDRESS: '127.0.0.1:8080',
  OPS_ADDRESS: '127.0.0.1:9464',
  GRPC_UPSTREAM: undefined,
  GRPC_UPSTREAM_TLS: 'off',
  GRPC_UPSTREAM_CA_FILE: undefined,
  GRPC_UPSTREAM_CERT_FILE: undefined,
  GRPC_UPSTREAM_KEY_FILE: undefined,
  TLS_CERT_FILE: undefined,
  TLS_KEY_FILE: undefined,
  TLS_CLIENT_CA_FILE: undefined,
  BASE_PATH: undefined,
  CORS_ORIGINS: undefined,
  JWT_SECRET: undefined,
  JWT_SECRET_FILE: undefined,
  JWT_PUBLIC_KEY_FILE: undefined,
  JWT_JWKS_URL: undefined,
  JWT_ISSUER: undefined,
  JWT_AUDIENCE: undefined,
  JWT_AUDIENCE_CLAIM: undefined,
  JWT_SCOPE_CLAIMS: 'scope,scp',
  JWT_READ_SCOPE: 'routes:read',
  JWT_WRITE_SCOPE: 'routes:write',
  DUPLICATE_ROUTES: 'allow',
  DOCS: 'on',
  REFLECTION: 'on',
  ROUTE_CACHE_MIB: '48',
  DATABASE_WAIT_MS: '0',
  DRAIN_DELAY_MS: '0',
  LOG_LEVEL: 'info',
  LOG_FORMAT: 'auto',
  ACCESS_LOG: 'all',
  OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: undefined,
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_SDK_DISABLED: 'false',
  DEADLINE_MS: '5000',
  MAX_MESSAGE_BYTES: '65536',
  MAX_CONNECTIONS: '5000',
  MAX_STREAMS: '128',
  MAX_CALLS: '2048',
  MAX_WAITING_CALLS: '1024',
  GRPC_IDLE_MS: '300000',
  GRPC_MAX_AGE_MS: '0',
  HTTP_IDLE_MS: '75000',
} as const satisfies Record<string, string | undefined>;

/** The most characters of a value shown in a message. */
const SHOWN_MAX = 128;

/** The name of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** The name of a setting that has a default. */
type DefaultedName = {
  [Name in SettingName]: (typeof SETTINGS)[Name] extends string ? Name : never;
}[SettingName];

/** Reads settings one by one and collects their problems. An empty value counts as unset. */
export class SettingsReader {
  /** One line for each problem. */
  readonly problems: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** @param problem the end of a sentence: `must be …; got ….` */
  refuse(name: SettingName, problem: string): void {
    this.problems.push(`${name} ${problem}`);
  }

  /**
   * Refuses a value and shows it, so the value must not be secret.
   *
   * @param allowed the middle of a sentence: `must be …`
   */
  refuseValue(name: SettingName, value: string, allowed: string): void {
    const shown = value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX - 1)}…` : value;
    this.refuse(name, `${allowed}; got ${JSON.stringify(shown)}.`);
  }

  /** The given value, without the default. */
  given(name: SettingName): string | undefined {
    const value = this.#env[name];
    return value === '' ? undefined : value;
  }

  /** The content of the file that a setting names; undefined if the setting is unset or the file cannot be read. */
  contentOf(name: SettingName): Buffer | undefined {
    const file = this.given(name);
    if (file === undefined) return undefined;
    try {
      return readFileSync(file);
    } catch {
      // The file name is not shown: the secret itself may have been set instead.
      this.refuse(name, 'must name a readable file; got one that cannot be read.');
      return undefined;
    }
  }

  text(name: DefaultedName): string {
    return this.given(name) ?? SETTINGS[name];
  }

  /** The members of a list separated by commas, without the white space around them; empty if the setting is unset. */
  list(name: SettingName): string[] {
    const text = this.given(name) ?? SETTINGS[name];
    return text?.split(',').map((member) => member.trim()) ?? [];
  }

  oneOf<const Value extends string>(name: DefaultedName, values: readonly [Value, ...Value[]]): Value {
    const text = this.text(name);
    const value = values.find((candidate) => candidate === text);
    if (value !== undefined) return value;
    this.refuseValue(name, text, `must be one of ${values.join(', ')}`);
    return values[0];
  }

  /** A whole number in decimal digits. */
  integer(name: DefaultedName, min: number, max: number): number {
    const text = this.text(name);
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    this.refuseValue(name, text, `must be a whole number from ${min} to ${max}`);
    return min;
  }
}

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

/**
 * The first words of the settings that must not be misspelled: the service would accept other tokens, run without TLS,
 * or allow duplicate routes.
 */
const STRICT = /^(?:JWT|TLS|DUPLICATE)_/;
/** What Kubernetes sets in every container for each of its services, which may be called `tls`. */
const OF_KUBERNETES = /_SERVICE_HOST$|_PORT(?:_|$)/;
/** What other software in this process reads: OpenTelemetry's SDK, grpc-js, and whatever respects proxies. */
const OF_OTHERS = /^(?:OTEL_|HTTP_PROXY$|GRPC_(?:DEFAULT|EXPERIMENTAL|NODE|SSL|TRACE|VERBOSITY))/;
/** A setting of an earlier version whose name begins like no other. */
const REMOVED = 'WORKERS';

/** The variables that begin like a setting but have no effect. An empty one counts as unset. */
export function unknownSettings(env: NodeJS.ProcessEnv): string[] {
  const firstWords = new Set(Object.keys(SETTINGS).map(firstWordOf));
  return Object.keys(env).filter((name) => {
    if (name in SETTINGS || env[name] === '' || OF_KUBERNETES.test(name) || OF_OTHERS.test(name))
      return false;
    return name === REMOVED || (name.includes('_') && firstWords.has(firstWordOf(name)));
  });
}

/** Refuses the unknown variables that must not be a misspelled setting. */
export function refuseMisspelled(env: NodeJS.ProcessEnv, settings: SettingsReader): void {
  for (const name of unknownSettings(env).filter((each) => STRICT.test(each))) {
    const word = firstWordOf(name);
    const known = Object.keys(SETTINGS).filter((each) => firstWordOf(each) === word);
    settings.problems.push(
      `${name} is not a setting. Those that begin with ${word}_ are ${known.join(', ')}.`,
    );
  }
}

function firstWordOf(name: string): string {
  return name.split('_', 1)[0] ?? '';
}
