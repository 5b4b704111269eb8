import { readFileSync } from 'node:fs';

/** The TLS options for MySQL; the texts are in PEM. */
export interface MysqlTls {
  /** The certificate authorities trusted to sign the server's certificate. */
  readonly ca: string;
  /** Whether the certificate must also be valid for the host of the URL. */
  readonly checksHost: boolean;
  /** The client's own certificate and key, both or neither. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const FILES = ['ssl-ca', 'ssl-cert', 'ssl-key'];
const PARAMETERS = ['ssl-mode', ...FILES];
/** The most characters of a parameter's name that a message repeats. */
const NAME_MAX = 32;

/**
 * Reads the TLS options from the parameters of a MySQL URL, under the names that MySQL's own programs use; undefined
 * without TLS. The modes that check no certificate, `PREFERRED` and `REQUIRED`, are not supported: they do not prevent
 * man-in-the-middle attacks.
 *
 * @throws Error whose message ends a sentence that begins with the setting's name; its only value is a valid `ssl-mode`
 */
export function mysqlTlsOf(parameters: URLSearchParams): MysqlTls | undefined {
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name))
      throw new Error(
        `has the unknown parameter ${JSON.stringify(name.slice(0, NAME_MAX))}; it may have ${PARAMETERS.join(', ')}.`,
      );
    if (parameters.getAll(name).length > 1) throw new Error(`has the parameter ${name} more than once.`);
    if (parameters.get(name) === '') throw new Error(`has the parameter ${name} without a value.`);
  }
  const mode = parameters.get('ssl-mode') ?? 'DISABLED';
  if (mode === 'DISABLED') {
    if (FILES.some((name) => parameters.has(name)))
      throw new Error('has files for TLS, which need ssl-mode=VERIFY_IDENTITY or VERIFY_CA.');
    return undefined;
  }
  if (mode !== 'VERIFY_IDENTITY' && mode !== 'VERIFY_CA')
    throw new Error('has a wrong ssl-mode; it must be VERIFY_IDENTITY, VERIFY_CA or DISABLED.');
  if (parameters.has('ssl-cert') !== parameters.has('ssl-key'))
    throw new Error('has only one of ssl-cert and ssl-key.');
  const [ca, cert, key] = FILES.map((name) => contentOf(name, parameters.get(name)));
  if (ca === undefined) throw new Error(`has ssl-mode=${mode} without ssl-ca.`);
  return { ca, checksHost: mode === 'VERIFY_IDENTITY', cert, key };
}

function contentOf(name: string, file: string | null): string | undefined {
  try {
    return file === null ? undefined : readFileSync(file, 'utf8');
  } catch {
    throw new Error(`names a file in ${name} that cannot be read.`);
  }
}
