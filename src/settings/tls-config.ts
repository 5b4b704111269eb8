import type { SettingName, SettingsReader } from './settings.js';

/** The TLS files of one party, each in PEM. */
export interface TlsFiles {
  /** The party's certificate with its chain, and the private key: both or neither. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The certificate authorities trusted to sign the other party's certificate. */
  readonly caFile: string | undefined;
}

/** Reads the TLS files of both servers, `undefined` without TLS; adds any problems to the reader. */
export function serverTlsOf(settings: SettingsReader, hasGrpc: boolean): TlsFiles | undefined {
  const pair = pairOf(settings, 'TLS_CERT_FILE', 'TLS_KEY_FILE');
  const caFile = settings.given('TLS_CLIENT_CA_FILE');
  if (caFile !== undefined && !hasGrpc)
    settings.refuse(
      'TLS_CLIENT_CA_FILE',
      'must not be set with ROLE=gateway, which runs no gRPC server; got a file.',
    );
  if (pair.certFile === undefined) {
    if (caFile !== undefined)
      settings.refuse(
        'TLS_CLIENT_CA_FILE',
        'must be set with TLS_CERT_FILE and TLS_KEY_FILE; got no certificate.',
      );
    return undefined;
  }
  return { ...pair, caFile };
}

/** Reads the TLS files of the channel to GRPC_UPSTREAM, `undefined` without TLS; adds any problems to the reader. */
export function upstreamTlsOf(settings: SettingsReader): TlsFiles | undefined {
  const on = settings.oneOf('GRPC_UPSTREAM_TLS', ['off', 'on']) === 'on';
  if (on && settings.given('GRPC_UPSTREAM') === undefined)
    settings.refuse(
      'GRPC_UPSTREAM_TLS',
      'must be set with GRPC_UPSTREAM, the gRPC server to call; got none.',
    );
  const pair = pairOf(settings, 'GRPC_UPSTREAM_CERT_FILE', 'GRPC_UPSTREAM_KEY_FILE');
  const caFile = settings.given('GRPC_UPSTREAM_CA_FILE');
  if (on) return { ...pair, caFile };
  const needsTls = 'must be set with GRPC_UPSTREAM_TLS=on; got off.';
  if (pair.certFile !== undefined) settings.refuse('GRPC_UPSTREAM_CERT_FILE', needsTls);
  if (caFile !== undefined) settings.refuse('GRPC_UPSTREAM_CA_FILE', needsTls);
  return undefined;
}

function pairOf(
  settings: SettingsReader,
  certName: SettingName,
  keyName: SettingName,
): Pick<TlsFiles, 'certFile' | 'keyFile'> {
  const certFile = settings.given(certName);
  const keyFile = settings.given(keyName);
  if (certFile === undefined && keyFile !== undefined)
    settings.refuse(certName, `must be set with ${keyName}; got none.`);
  if (keyFile === undefined && certFile !== undefined)
    settings.refuse(keyName, `must be set with ${certName}; got none.`);
  return { certFile, keyFile };
}
