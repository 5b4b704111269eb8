/** The part of oidc-provider, which brings no types, that the tests use. */
declare module 'oidc-provider' {
  import type { JsonWebKey } from 'node:crypto';
  import type { RequestListener } from 'node:http';

  interface ResourceServer {
    readonly scope: string;
    readonly audience: string;
    readonly accessTokenFormat: 'jwt';
    readonly jwt: { readonly sign: { readonly alg: string } };
  }

  interface Configuration {
    readonly jwks: { readonly keys: readonly JsonWebKey[] };
    readonly clients: readonly object[];
    readonly routes: Readonly<Record<string, string>>;
    readonly scopes: readonly string[];
    readonly ttl: Readonly<Record<string, number>>;
    readonly features: {
      readonly devInteractions: { readonly enabled: boolean };
      readonly clientCredentials: { readonly enabled: boolean };
      readonly resourceIndicators: {
        readonly enabled: boolean;
        defaultResource(): string;
        getResourceServerInfo(): ResourceServer;
      };
    };
    extraTokenClaims(): object;
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): RequestListener;
  }
}
