import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Config,
  ConfigError,
  readConfig,
  readMigration,
  readTokens,
} from '../../src/settings/config.js';
import { unknownSettings } from '../../src/settings/unknown-settings.js';

const SECRET = 's'.repeat(32);
const PARTIES = { JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
const JWT = { JWT_SECRET: SECRET, ...PARTIES };
const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.test:4318' };
const SQLITE = { DATABASE_URL: 'sqlite:data/routes.db' };
const WRONG_FORM =
  'must be mysql://user:password@host:port/database, in user and password with %23 for #, %2F for /, %3F for ? and %25 for %, or sqlite:path; got another form.';
const MYSQL = { DATABASE_URL: 'mysql://u:p@db:3307/routes' };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A file that holds this text. */
function fileOf(content: string | Buffer): string {
  const file = join(folder, randomUUID());
  writeFileSync(file, content);
  return file;
}

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split('\n- ').slice(1);
  }
  return [];
}

describe('without any setting', () => {
  it('both servers run locally on the embedded database with a generated secret', () => {
    expect(readConfig({})).toEqual({
      grpc: {
        address: '127.0.0.1:50051',
        database: { engine: 'sqlite', file: 'data/routes.db' },
        tokens: {
          key: { kind: 'local', file: 'data/jwt-secret' },
          issuers: ['route-registry'],
          audiences: ['route-registry'],
          audienceClaim: undefined,
          scopeClaims: [
            { name: 'scope', path: ['scope'] },
            { name: 'scp', path: ['scp'] },
          ],
          scopes: { read: 'routes:read', write: 'routes:write' },
        },
        duplicateRoutes: 'allow',
        reflection: true,
      },
      http: { host: '127.0.0.1', port: 8080, basePath: '', upstream: undefined, corsOrigins: [], docs: true },
      ops: { host: '127.0.0.1', port: 9_464 },
      limits: {
        deadlineMs: 5_000,
        maxMessageBytes: 65_536,
        maxConnections: 5_000,
        maxStreams: 128,
        maxCalls: 2_048,
        maxWaitingCalls: 1_024,
        grpcIdleMs: 300_000,
        grpcMaxAgeMs: 0,
        httpIdleMs: 75_000,
      },
      databaseWaitMs: 0,
      drainDelayMs: 0,
      routeCacheBytes: 50_331_648,
      replyCacheBytes: 8_388_608,
      logLevel: 'info',
      logFormat: 'auto',
      accessLog: 'all',
      traces: false,
    });
  });

  it('an empty setting counts as absent', () => {
    expect(readConfig({ ROLE: '', JWT_SECRET: '', BASE_PATH: '' })).toEqual(readConfig({}));
  });
});

describe('a setting', () => {
  it.each<[string, Record<string, string>, object]>([
    ['ROLE=grpc runs no gateway', { ROLE: 'grpc' }, { http: undefined, grpc: { reflection: true } }],
    [
      'GRPC_UPSTREAM may be several addresses',
      { GRPC_UPSTREAM: 'ipv6:[::1]:1,[::1]:2' },
      { http: { upstream: 'ipv6:[::1]:1,[::1]:2' } },
    ],
    [
      'GRPC_ADDRESS may be a unix socket',
      { GRPC_ADDRESS: 'unix:/run/rr.sock' },
      { grpc: { address: 'unix:/run/rr.sock' } },
    ],
    [
      'OPS_ADDRESS may be the address of a server that does not run',
      { ROLE: 'grpc', OPS_ADDRESS: '127.0.0.1:8080' },
      { ops: { host: '127.0.0.1', port: 8_080 } },
    ],
    [
      'every address may have the port 0',
      { OPS_ADDRESS: '127.0.0.1:0', HTTP_ADDRESS: '127.0.0.1:0', GRPC_ADDRESS: '127.0.0.1:0' },
      { ops: { host: '127.0.0.1', port: 0 } },
    ],
    ['HTTP_ADDRESS may be IPv6', { HTTP_ADDRESS: '[::1]:0' }, { http: { host: '::1', port: 0 } }],
    ['REFLECTION may be off', { REFLECTION: 'off' }, { grpc: { reflection: false } }],
    [
      'ROUTE_CACHE_MIB is in MiB',
      { ROUTE_CACHE_MIB: '1' },
      { routeCacheBytes: 1_048_576, replyCacheBytes: 174_762 },
    ],
    [
      'OTEL_SDK_DISABLED=True turns traces off',
      { ...COLLECTOR, OTEL_SDK_DISABLED: 'True' },
      { traces: false },
    ],
    [
      'JWT_SECRET is measured in bytes of UTF-8',
      { ...JWT, ...SQLITE, JWT_SECRET: 'ß'.repeat(16) },
      { grpc: { tokens: { key: { kind: 'secret', secret: 'ß'.repeat(16) } } } },
    ],
  ])('%s', (_, env, expected) => {
    expect(readConfig(env)).toMatchObject(expected);
  });

  it.each([
    ['JWT_PUBLIC_KEY_FILE', 'publicKeyFile'],
    ['JWT_SECRET_FILE', 'secretFile'],
  ])('%s names a file to follow', (name, kind) => {
    const file = fileOf(`${SECRET}\n`);
    expect(readTokens({ [name]: file, ...PARTIES }).key).toEqual({ kind, file });
  });

  it('DATABASE_URL_FILE names a file with the URL, and white space around the URL is ignored', () => {
    const env = { DATABASE_URL_FILE: fileOf(' sqlite:/x.db\n') };
    expect(readMigration(env).database).toEqual({ engine: 'sqlite', file: '/x.db' });
  });

  it.each<[string, object]>([
    ['sqlite:/var/lib/rr.db', { engine: 'sqlite', file: '/var/lib/rr.db' }],
    ['sqlite::memory:', { engine: 'sqlite', file: ':memory:' }],
    ['sqlite:./http:x', { engine: 'sqlite', file: './http:x' }],
    ['sqlite:C:/rr.db', { engine: 'sqlite', file: 'C:/rr.db' }],
    [
      'mysql://us%40er:p%2Fw%3A@[::1]/rou%20tes',
      {
        engine: 'mysql',
        host: '::1',
        port: 3306,
        user: 'us@er',
        password: 'p/w:',
        database: 'rou tes',
        exposed: false,
      },
    ],
    [
      'mysql://u@localhost/d?socket=/run/mysqld/mysqld.sock',
      { engine: 'mysql', socket: '/run/mysqld/mysqld.sock', user: 'u', password: '', exposed: false },
    ],
    [
      MYSQL.DATABASE_URL,
      {
        engine: 'mysql',
        host: 'db',
        port: 3307,
        user: 'u',
        password: 'p',
        database: 'routes',
        exposed: true,
      },
    ],
  ])('DATABASE_URL may be %s', (url, database) => {
    expect(readMigration({ DATABASE_URL: url }).database).toMatchObject(database);
  });

  it.each([
    ['mysql://u:p@db/d', true],
    ['mysql://u:p@localhost.example.com/d', true],
    ['mysql://u:p@db/d?ssl-mode=DISABLED', false],
    ['mysql://u:p@localhost/d', false],
    ['mysql://u:p@127.0.0.2/d', false],
    ['mysql://u:p@[::1]/d', false],
  ])('DATABASE_URL=%s exposes the connection to the network: %s', (url, exposed) => {
    expect(readMigration({ DATABASE_URL: url }).database).toMatchObject({ exposed });
  });
});

describe('invalid settings', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['an unknown role', { ROLE: 'both' }, ['ROLE must be one of all, grpc, gateway; got "both".']],
    [
      'a gateway without upstream',
      { ROLE: 'gateway' },
      ['GRPC_UPSTREAM must be the gRPC server that ROLE=gateway calls; got none.'],
    ],
    [
      'an upstream with an address that has no port',
      { ROLE: 'gateway', GRPC_UPSTREAM: 'ipv4:10.0.0.1:50051,10.0.0.2' },
      [
        'GRPC_UPSTREAM must be host:port, with a port up to 65535, dns:///host:port, unix:/path, or several addresses as in ipv4:10.0.0.1:50051,10.0.0.2:50051; got "ipv4:10.0.0.1:50051,10.0.0.2".',
      ],
    ],
    [
      'a gRPC address without port',
      { GRPC_ADDRESS: 'localhost' },
      ['GRPC_ADDRESS must be host:port, with a port up to 65535, or unix:/path; got "localhost".'],
    ],
    [
      'an address for operators that is the REST address',
      { OPS_ADDRESS: '127.0.0.1:8080' },
      ['OPS_ADDRESS must differ from HTTP_ADDRESS, which is public; got "127.0.0.1:8080".'],
    ],
    [
      'an address for operators that is the gRPC address in other case',
      { OPS_ADDRESS: 'LOCALHOST:7', GRPC_ADDRESS: 'localhost:7' },
      ['OPS_ADDRESS must differ from GRPC_ADDRESS, which is public; got "LOCALHOST:7".'],
    ],
    [
      'an unusable address for operators, beside one that is the default of it',
      { OPS_ADDRESS: 'x', HTTP_ADDRESS: '127.0.0.1:9464' },
      ['OPS_ADDRESS must be host:port, with a port up to 65535, or off; got "x".'],
    ],
    [
      'an unusable REST address, whose default is the address for operators',
      { OPS_ADDRESS: '127.0.0.1:8080', HTTP_ADDRESS: 'x' },
      ['HTTP_ADDRESS must be host:port, with a port up to 65535; got "x".'],
    ],
    [
      'a word that neither turns TLS to the upstream on nor off, with its files',
      { GRPC_UPSTREAM: 'h:1', GRPC_UPSTREAM_TLS: 'true', GRPC_UPSTREAM_CA_FILE: 'ca' },
      ['GRPC_UPSTREAM_TLS must be one of on, off; got "true".'],
    ],
    [
      'a base path with a final slash',
      { BASE_PATH: '/api/' },
      ['BASE_PATH must be empty or segments that each begin with a slash, such as /api/routes; got "/api/".'],
    ],
    [
      'a deadline that is not a number',
      { DEADLINE_MS: '1e3' },
      ['DEADLINE_MS must be a whole number from 1 to 600000; got "1e3".'],
    ],
    [
      'a short secret',
      { ...JWT, ...SQLITE, JWT_SECRET: 's'.repeat(31) },
      ['JWT_SECRET must be at least 32 bytes; got 31.'],
    ],
    [
      'a key file that does not exist',
      { JWT_PUBLIC_KEY_FILE: '/nowhere', ...PARTIES, ...SQLITE },
      ['JWT_PUBLIC_KEY_FILE must name a readable file; got one that cannot be read.'],
    ],
    [
      'a secret and a file of secrets',
      { ...JWT, ...SQLITE, JWT_SECRET_FILE: '/nowhere' },
      [
        'JWT_SECRET_FILE must name a readable file; got one that cannot be read.',
        'Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got 2.',
      ],
    ],
    [
      'a file for the database URL that does not exist',
      { ...JWT, DATABASE_URL_FILE: '/nowhere' },
      ['DATABASE_URL_FILE must name a readable file; got one that cannot be read.'],
    ],
    [
      'a JWKS URL of a file',
      { JWT_JWKS_URL: 'file:///keys', ...PARTIES, ...SQLITE },
      ['JWT_JWKS_URL must be an http or https URL; got another form.'],
    ],
    [
      'a key set over TLS whose server nobody checks',
      { JWT_JWKS_URL: 'https://i.test/keys', NODE_TLS_REJECT_UNAUTHORIZED: '0', ...PARTIES, ...SQLITE },
      [
        'JWT_JWKS_URL must be fetched from a server whose certificate is checked; got NODE_TLS_REJECT_UNAUTHORIZED=0, with which anybody could replace the keys.',
      ],
    ],
    [
      'a secret without issuer and audience',
      { JWT_SECRET: SECRET, ...SQLITE },
      [
        'JWT_ISSUER must be the iss of every token; got none.',
        'JWT_AUDIENCE must be the aud of every token; got none.',
      ],
    ],
    [
      'an issuer without key, even on the embedded database',
      { ...PARTIES, ...SQLITE },
      [
        'Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got none.',
      ],
    ],
    [
      'MySQL without any JWT setting, since MySQL has no local mode',
      MYSQL,
      [
        'Exactly one of JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE and JWT_JWKS_URL must be set; got none.',
        'JWT_ISSUER must be the iss of every token; got none.',
        'JWT_AUDIENCE must be the aud of every token; got none.',
      ],
    ],
  ])('are reported: %s', (_, env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });

  it.each([
    'postgres://u:p@h/d',
    'mysql://u:p@h',
    'mysql://u:p@h/',
    'mysql://u:p@h/a/b',
    'mysql://u:p@h/d#x',
    'mysql://u:%zz@h/d',
    'mysql:///d',
    'mysql://u:p#hush@h/d',
    'mysql://u:1/hush@h/d',
    'mysql://u:1?hush@h/d',
    'mysql://u:1/hush?hush@h/d',
    'mysql://u:5%@h/d',
    'routes.db',
    'sqlite:',
  ])('such as DATABASE_URL=%s are reported without their value', (url) => {
    expect(problemsOf({ ...JWT, DATABASE_URL: url })).toEqual([`DATABASE_URL ${WRONG_FORM}`]);
  });

  it.each([
    [
      'mysql://u@h/d?socket=/s',
      'the absolute path of a file as socket, and localhost as host; got another one.',
    ],
    [
      'mysql://u@localhost/d?socket=s',
      'the absolute path of a file as socket, and localhost as host; got another one.',
    ],
    ['mysql://u@localhost/d?socket=/s&socket=/t', 'the parameter socket once; got 2.'],
    [
      'mysql://u@localhost/d?socket=/s&ssl-mode=VERIFY_IDENTITY',
      'no ssl-mode but DISABLED where it has a socket; got VERIFY_IDENTITY.',
    ],
  ])('such as DATABASE_URL=%s are reported', (url, problem) => {
    expect(problemsOf({ ...JWT, DATABASE_URL: url })).toEqual([`DATABASE_URL must have ${problem}`]);
  });

  it.each(['mysql://u:p@h/d', 'http://h/d', 'file:routes.db', 'sqlite:routes.db', 'libsql://u:p@h'])(
    'such as DATABASE_URL=sqlite:%s are reported without their value',
    (path) => {
      expect(problemsOf({ ...JWT, DATABASE_URL: `sqlite:${path}` })).toEqual([
        'DATABASE_URL must have the path of a file after "sqlite:"; got another scheme. Take one of them out; if a file is really called so, write ./ before its name.',
      ]);
    },
  );

  it.each([
    ['no secret', '\n \n', 'It must hold 1 to 16 secrets, one a line; got 0.'],
    ['17 secrets', `${SECRET}\n`.repeat(17), 'It must hold 1 to 16 secrets, one a line; got 17.'],
    ['a short secret', `${SECRET}\n\nhush\n`, 'Secret 2 must be at least 32 bytes; got 4.'],
    ['random bytes', Buffer.alloc(64, 0xe9), 'It must be in UTF-8.'],
  ])('such as a JWT_SECRET_FILE with %s are reported without their value', (_, content, problem) => {
    const env = { JWT_SECRET_FILE: fileOf(content), ...PARTIES, ...SQLITE };
    expect(problemsOf(env)).toEqual([`JWT_SECRET_FILE names a file that cannot be used. ${problem}`]);
  });

  it('such as a DATABASE_URL_FILE with an invalid URL are reported without their value', () => {
    expect(problemsOf({ ...JWT, DATABASE_URL_FILE: fileOf('postgres://u:p@h/d') })).toEqual([
      `DATABASE_URL_FILE names a file whose text ${WRONG_FORM}`,
    ]);
  });

  it.each(['localhost:4318', 'grpc://localhost:4317', 'http://', 'me:hush@localhost:4318'])(
    'such as OTEL_EXPORTER_OTLP_ENDPOINT=%s are reported without their value',
    (url) => {
      expect(problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url })).toEqual([
        'OTEL_EXPORTER_OTLP_ENDPOINT must be the http or https URL of a collector; got another form.',
      ]);
    },
  );

  it('include both DATABASE_URL and DATABASE_URL_FILE', () => {
    expect(problemsOf({ ...JWT, ...MYSQL, DATABASE_URL_FILE: fileOf(MYSQL.DATABASE_URL) })).toEqual([
      'DATABASE_URL_FILE must be set without DATABASE_URL; got both.',
    ]);
  });

  it.each<[string, number, number, (config: Config) => number]>([
    ['DATABASE_WAIT_MS', 0, 3_600_000, (config) => config.databaseWaitMs],
    ['DEADLINE_MS', 1, 600_000, ({ limits }) => limits.deadlineMs],
    ['DRAIN_DELAY_MS', 0, 600_000, (config) => config.drainDelayMs],
    ['GRPC_IDLE_MS', 1_000, 86_400_000, ({ limits }) => limits.grpcIdleMs],
    ['GRPC_MAX_AGE_MS', 0, 86_400_000, ({ limits }) => limits.grpcMaxAgeMs],
    ['HTTP_IDLE_MS', 1_000, 86_400_000, ({ limits }) => limits.httpIdleMs],
    ['MAX_CALLS', 1, 1_000_000, ({ limits }) => limits.maxCalls],
    ['MAX_CONNECTIONS', 1, 1_000_000, ({ limits }) => limits.maxConnections],
    ['MAX_MESSAGE_BYTES', 1, 16_777_216, ({ limits }) => limits.maxMessageBytes],
    ['MAX_STREAMS', 1, 1_000_000, ({ limits }) => limits.maxStreams],
    ['MAX_WAITING_CALLS', 2, 1_000_000, ({ limits }) => limits.maxWaitingCalls],
    ['ROUTE_CACHE_MIB', 0, 1_024, ({ routeCacheBytes }) => routeCacheBytes / 1_048_576],
  ])('include %s outside %i to %i', (name, least, most, valueIn) => {
    const problems = (value: number): string[] => problemsOf({ ...JWT, ...MYSQL, [name]: String(value) });
    const refused = (value: number): string[] => [
      `${name} must be a whole number from ${least} to ${most}; got "${value}".`,
    ];
    for (const value of [least, most])
      expect(valueIn(readConfig({ ...JWT, ...MYSQL, [name]: String(value) }))).toBe(value);
    expect([problems(least - 1), problems(most + 1)]).toEqual([refused(least - 1), refused(most + 1)]);
  });

  it('are reported all at once', () => {
    expect(
      problemsOf({ ROLE: 'x', DEADLINE_MS: 'x', LOG_LEVEL: 'x', REFLECTION: 'x', JWT_SECRET: 'short' }),
    ).toHaveLength(8);
  });

  it.each([
    [
      'JWT_SECRE',
      'JWT_SECRET, JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE, JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE, JWT_AUDIENCE_CLAIM, JWT_SCOPE_CLAIMS, JWT_READ_SCOPE, JWT_WRITE_SCOPE',
    ],
    ['TLS_CERTFILE', 'TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE'],
    ['DUPLICATE_ROUTE', 'DUPLICATE_ROUTES'],
  ])('include %s, which could be a misspelled %s', (name, known) => {
    const problem = `${name} is not a setting. Those that begin with ${name.split('_')[0]}_ are ${known}.`;
    expect(problemsOf({ [name]: 'hush' })).toEqual([problem]);
    expect(() => readMigration({ [name]: 'hush' })).toThrow(problem);
    expect(() => readTokens({ [name]: 'hush' })).toThrow(problem);
  });

  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['an empty', { DATABASE_URL: '' }],
    ['a misspelled', { DATABSE_URL: MYSQL.DATABASE_URL }],
  ])(
    'include %s DATABASE_URL with tokens of an issuer, whose creates must not go to a local file',
    (_, env) => {
      const problem = 'DATABASE_URL must be set when a setting of tokens (JWT_…) is set; got none.';
      expect(problemsOf({ ...JWT, ...env })).toEqual([problem]);
      expect(readTokens({ ...JWT, ...env }).issuers).toEqual(['i']);
    },
  );

  it('are reported with only the beginning of a long value', () => {
    expect(problemsOf({ ROLE: 'x'.repeat(1_000) })).toEqual([
      `ROLE must be one of all, grpc, gateway; got "${'x'.repeat(127)}…".`,
    ]);
  });
});

describe('the names of claims and scopes', () => {
  const ISSUER = { JWT_JWKS_URL: 'https://issuer.test/keys', ...PARTIES };
  const problemsWith = (settings: Record<string, string>) =>
    problemsOf({ ...ISSUER, ...SQLITE, ...settings });

  it('are read from lists and as JSON Pointers', () => {
    const settings = {
      JWT_ISSUER: 'https://old.test, https://new.test',
      JWT_AUDIENCE: 'one, two',
      JWT_AUDIENCE_CLAIM: 'client_id',
      JWT_SCOPE_CLAIMS: 'roles, /resource_access/a~1b~0c/roles',
      JWT_READ_SCOPE: 'https://api.example/routes:read',
    };
    expect(readTokens({ ...ISSUER, ...settings })).toMatchObject({
      issuers: ['https://old.test', 'https://new.test'],
      audiences: ['one', 'two'],
      audienceClaim: { name: 'client_id', path: ['client_id'] },
      scopeClaims: [
        { name: 'roles', path: ['roles'] },
        { name: '/resource_access/a~1b~0c/roles', path: ['resource_access', 'a/b~c', 'roles'] },
      ],
      scopes: { read: 'https://api.example/routes:read', write: 'routes:write' },
    });
  });

  it.each([
    ['JWT_ISSUER', ',a', 'JWT_ISSUER must be values separated by single commas; got ",a".'],
    ['JWT_AUDIENCE', 'a,,b', 'JWT_AUDIENCE must be values separated by single commas; got "a,,b".'],
    ['JWT_AUDIENCE', 'a,', 'JWT_AUDIENCE must be values separated by single commas; got "a,".'],
  ])('are refused: %s=%s', (name, value, problem) => {
    expect(problemsWith({ [name]: value })).toEqual([problem]);
  });

  it.each(['scope,,scp', ',', 'scope scp', '/a~2', '/a/~', '/a~', 'x'.repeat(256)])(
    'such as JWT_SCOPE_CLAIMS=%s are refused',
    (value) => {
      expect(problemsWith({ JWT_SCOPE_CLAIMS: value })).toEqual([
        expect.stringMatching(
          /^JWT_SCOPE_CLAIMS must be claims separated by commas, each a name without white space, or a JSON Pointer such as \/resource_access\/registry\/roles, of at most 255 characters; got "/,
        ),
      ]);
    },
  );

  it.each(['a claim', '/a~2', ' '])('such as JWT_AUDIENCE_CLAIM=%s are refused', (value) => {
    expect(problemsWith({ JWT_AUDIENCE_CLAIM: value })).toEqual([
      `JWT_AUDIENCE_CLAIM must be a name without white space, or a JSON Pointer such as /resource_access/registry/roles, of at most 255 characters; got ${JSON.stringify(value)}.`,
    ]);
  });

  it.each(['a b', 'a"b', 'a\\b', ' a', 'ä', 'a\n', 'x'.repeat(256)])(
    'such as the scope %j are refused, which RFC 6749 does not allow',
    (value) => {
      const problem =
        'must be one scope: 1 to 255 visible ASCII characters except quotation marks and backslashes';
      expect(problemsWith({ JWT_READ_SCOPE: value, JWT_WRITE_SCOPE: value })).toEqual([
        expect.stringContaining(`JWT_READ_SCOPE ${problem}; got `),
        expect.stringContaining(`JWT_WRITE_SCOPE ${problem}; got `),
        expect.stringContaining('JWT_WRITE_SCOPE must differ from JWT_READ_SCOPE; got '),
      ]);
    },
  );

  it.each(['JWT_AUDIENCE_CLAIM', 'JWT_SCOPE_CLAIMS', 'JWT_READ_SCOPE', 'JWT_WRITE_SCOPE'])(
    'do not exist in local mode: %s alone asks for a key',
    (name) => {
      expect(problemsOf({ [name]: 'x', ...SQLITE })).toContainEqual(
        expect.stringMatching(/^Exactly one of JWT_SECRET, .* must be set; got none\.$/),
      );
    },
  );
});

describe('CORS_ORIGINS', () => {
  it.each([
    ['*', 'would allow every page'],
    ['https://app.example.com/', 'a final slash'],
    ['https://app.example.com:443', 'the default port, which browsers omit'],
    ['https://App.example.com', 'an upper-case letter in the host, which browsers never send'],
    ['app.example.com', 'no scheme'],
    ['null', 'the origin of sandboxed pages, which anybody can create'],
    ['file:///page.html', 'a scheme without origins'],
    ['', 'nothing between two commas'],
    ['https://*', 'every page over TLS'],
    ['https://*.com', 'a single label behind the wildcard'],
    ['https://*.com.', 'an empty label'],
    ['http://*.example.app', 'a wildcard without TLS'],
    ['https://a*.example.app', 'a wildcard within a label'],
    ['https://app.*.example.app', 'a wildcard that is not leftmost'],
    ['https://*.example.app:443', 'a wildcard with the default port'],
    ['https://*.10.0.0.1', 'a wildcard before an address'],
  ])('refuses %j: %s', (origin) => {
    const read = () => readConfig({ CORS_ORIGINS: `https://good.example.com,${origin},` });
    expect(read).toThrow(`* stands for one label; got "${origin},".`);
  });

  it.each(['https://*.example.app', 'https://*.a.example.app:8443', 'http://localhost:3000'])(
    'takes %s',
    (origin) => {
      expect(readConfig({ CORS_ORIGINS: origin }).http?.corsOrigins).toEqual([origin]);
    },
  );
});

describe('variables that begin like settings', () => {
  it.each(['MAX_STREAMING_CALLS', 'LOG_LEVL', 'DATABASE_URI', 'HTTP_ADRESS', 'DOCS_URL'])(
    'are reported without failing the start: %s',
    (name) => {
      expect(readConfig({ [name]: 'x' })).toEqual(readConfig({}));
      expect(unknownSettings({ [name]: 'x' })).toEqual([name]);
      expect(unknownSettings({ [name]: '' })).toEqual([]);
    },
  );

  it.each([
    'JWT_SERVICE_HOST',
    'TLS_SERVICE_PORT_HTTPS',
    'TLS_PORT',
    'DUPLICATE_FINDER_PORT_80_TCP_ADDR',
    'HTTP_PROXY',
    'GRPC_TRACE',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'SSL_CERT_FILE',
    'DOCSTRINGS',
  ])('are not reported if Kubernetes or other software sets them: %s', (name) => {
    expect(readConfig({ [name]: 'x' })).toEqual(readConfig({}));
    expect(unknownSettings({ [name]: 'x' })).toEqual([]);
  });
});
