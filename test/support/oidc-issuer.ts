import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { onTestFinished } from 'vitest';
import type { Pair } from './certificates.js';

/** The path of the realm that docs/issuers.md makes. */
const REALM = '/realms/routes';
const AUDIENCE = 'route-registry';
const SCOPES = ['routes:read', 'routes:write'];
const CLIENT = { client_id: 'deploy', client_secret: 'the-secret-of-the-client' };

/** The algorithms whose keys the issuer has; it signs with one of them. */
const KEYS = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
} as const;
export type SigningAlgorithm = keyof typeof KEYS;

/** An OAuth 2.0 authorization server of others (oidc-provider), with the paths and the tokens of a Keycloak realm. */
interface OidcIssuer {
  /** Scheme, host and port, in place of `https://keycloak.example.com`. */
  readonly origin: string;
  /** The settings of a service that takes its tokens. */
  readonly settings: Readonly<Record<string, string>>;
}

interface IssuerOptions {
  /** Default: RS256. */
  readonly algorithm?: SigningAlgorithm;
  /** The certificate and key of its `https:`; default: `http:`. */
  readonly tls?: Pair | undefined;
  /** Default: a free port. */
  readonly port?: number;
}

/** Starts the issuer on loopback. It is stopped when the test ends. */
export async function startOidcIssuer({
  algorithm = 'RS256',
  tls,
  port = 0,
}: IssuerOptions = {}): Promise<OidcIssuer> {
  const server: Server = tls === undefined ? createServer() : createSecureServer(tls);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const scheme = tls === undefined ? 'http' : 'https';
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `${origin}${REALM}`;
  server.on('request', below(REALM, providerOf(issuer, algorithm).callback()));
  return {
    origin,
    settings: {
      JWT_JWKS_URL: `${issuer}/protocol/openid-connect/certs`,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: AUDIENCE,
    },
  };
}

function providerOf(issuer: string, alg: SigningAlgorithm): Provider {
  return new Provider(issuer, {
    jwks: { keys: Object.keys(KEYS).map((algorithm) => privateJwk(algorithm as SigningAlgorithm)) },
    clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    routes: { jwks: '/protocol/openid-connect/certs', token: '/protocol/openid-connect/token' },
    scopes: SCOPES,
    ttl: { ClientCredentials: 300 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => `urn:${AUDIENCE}`,
        getResourceServerInfo: () => ({
          scope: SCOPES.join(' '),
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg } },
        }),
      },
    },
    extraTokenClaims: () => ({
      typ: 'Bearer',
      azp: CLIENT.client_id,
      acr: '1',
      realm_access: { roles: ['default-roles-routes', 'offline_access'] },
      resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
    }),
  });
}

function privateJwk(alg: SigningAlgorithm): JsonWebKey {
  return { ...KEYS[alg]().privateKey.export({ format: 'jwk' }), alg, use: 'sig' };
}

/** Mounts a listener below a path, as Express does. */
function below(path: string, listener: RequestListener): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    // oidc-provider finds where it is mounted by the difference.
    Object.assign(request, { originalUrl: url, url: url.slice(path.length) });
    listener(request, response);
  };
}
