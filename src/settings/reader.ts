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

  /** Whether Node checks the certificates of servers: a variable of its own, for the whole process, may forbid that. */
  get checksCertificates(): boolean {
    return this.#env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0';
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

/**
 * The first words of the settings that must not be misspelled: the service would accept other tokens, run without TLS,
 * or allow duplicate routes.
 */
const STRICT = /^(?:JWT|TLS|DUPLICATE)_/;
/** What Kubernetes sets in every container for each of its services, which may be called `tls`. */
const OF_KUBERNETES = /_SERVICE_HOST$|_PORT(?:_|$)/;
/** What other software in this process reads: OpenTelemetry's SDK, grpc-js, and whatever respects proxies. */
const OF_OTHERS = /^(?:OTEL_|HTTP_PROXY$|GRPC_(?:DEFAULT|EXPERIMENTAL|NODE|SSL|TRACE|VERBOSITY))/;

/** The variables that begin like a setting but have no effect. An empty one counts as unset. */
export function unknownSettings(env: NodeJS.ProcessEnv): string[] {
  const firstWords = new Set(Object.keys(SETTINGS).map(firstWordOf));
  return Object.keys(env).filter((name) => {
    if (name in SETTINGS || env[name] === '' || OF_KUBERNETES.test(name) || OF_OTHERS.test(name))
      return false;
    return name.includes('_') && firstWords.has(firstWordOf(name));
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
